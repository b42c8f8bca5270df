import { Link, type LinkProps } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Icon } from './icon.tsx'

type Address = Pick<LinkProps, 'to' | 'params'>

/** In the head of a page: leads to the list that the page is a part of. */
export const BackLink = ({ to, children }: Address & { children: ReactNode }) => (
  <Link className="button" data-kind="quiet" to={to}>
    <Icon name="back" />
    {children}
  </Link>
)

/** At the end of a row: leads to the page of what the row shows. */
export const OpenLink = ({ label, ...address }: Address & { label: string }) => (
  <Link className="button" data-kind="quiet" data-size="icon" aria-label={label} {...address}>
    <Icon name="arrow" />
  </Link>
)
