import type { OtpDevice } from '@bailiwick/client'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { Badge, Button } from '../parts/button.tsx'
import { confirmed } from '../parts/confirmation.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { Icon, type IconName } from '../parts/icon.tsx'
import { Time } from '../parts/time.tsx'
import { say } from '../parts/toasts.tsx'
import { texts } from './texts.ts'

const { security: words } = texts

const icons: Record<OtpDevice['type'], IconName> = {
  totp: 'phone',
  email: 'mail',
  static: 'scroll',
  passkey: 'key',
}

/** A second factor, and its removal. */
export function FactorRow({ device, onChange }: { device: OtpDevice; onChange: () => Promise<void> }) {
  const [removing, setRemoving] = useState(false)
  const { id, type, last_used_at: used, counts_from: countsFrom, remaining_codes: left } = device
  const name = device.name || words.types[type]
  return (
    <li>
      <span className="rows-icon">
        <Icon name={icons[type]} />
      </span>
      <div className="what">
        <p>
          <bdi>{name}</bdi>
        </p>
        <p className="muted small">
          {type === 'static' && left !== null ? words.left(left) : words.types[type]}
          {' · '}
          {used ? (
            <>
              {words.used} <Time at={used} />
            </>
          ) : (
            words.neverUsed
          )}
        </p>
      </div>
      {countsFrom && (
        <Badge tone="warn">
          {words.countsFrom} <Time at={countsFrom} />
        </Badge>
      )}
      {type !== 'email' && (
        <Button
          kind="quiet"
          icon="trash"
          aria-label={`${words.remove}: ${name}`}
          onClick={() => setRemoving(true)}
        />
      )}
      <FormDialog
        open={removing}
        onClose={() => setRemoving(false)}
        danger
        title={words.removeTitle(name)}
        about={words.removeAbout}
        go={words.remove}
        submit={async () => {
          await confirmed(() => call('DELETE /auth/otp/devices/{id}/', { path: { id } }))
          await onChange()
          say(words.removed(name))
        }}
      />
    </li>
  )
}
