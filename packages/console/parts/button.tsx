import type { ComponentProps, ReactNode } from 'react'
import { Icon, type IconName } from './icon.tsx'

interface Look {
  kind?: 'primary' | 'danger' | 'danger-quiet' | 'quiet'
  icon?: IconName
  wide?: boolean
  /** A call is under way: the button shows it, and does nothing. */
  busy?: boolean
}

export function Button({
  kind,
  icon,
  wide,
  busy = false,
  children,
  onClick,
  type = 'button',
  ...rest
}: ComponentProps<'button'> & Look) {
  return (
    <button
      {...rest}
      type={type}
      className="button"
      data-kind={kind}
      data-wide={wide || undefined}
      data-size={children ? undefined : 'icon'}
      aria-disabled={busy || undefined}
      onClick={busy ? (event) => event.preventDefault() : onClick}
    >
      {busy ? <Spinner /> : icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

export const Spinner = () => <span className="spinner" aria-hidden="true" />

export function Badge({
  tone,
  children,
}: {
  tone?: 'good' | 'warn' | 'danger' | 'accent'
  children: ReactNode
}) {
  return (
    <span className="badge" data-tone={tone}>
      {children}
    </span>
  )
}

/** Names that people gave, such as those of roles, each as a badge. */
export const Badges = ({ of: names, accent }: { of: readonly string[]; accent?: string }) => (
  <span className="line">
    {names.map((name) => (
      <Badge key={name} tone={name === accent ? 'accent' : undefined}>
        <bdi>{name}</bdi>
      </Badge>
    ))}
  </span>
)
