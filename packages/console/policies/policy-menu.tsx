import type { Policy } from '@bailiwick/client'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { approvable } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { confirmed } from '../parts/confirmation.tsx'
import { Menu, MenuItem } from '../parts/menu.tsx'
import { Removal } from '../parts/removal.tsx'
import { sayFault } from '../parts/toasts.tsx'
import { useMay } from '../session/session.ts'
import { texts } from './texts.ts'

/** What can be done to a policy as a whole. */
export function PolicyMenu({
  policy,
  onChanged,
  onRemoved = onChanged,
}: {
  policy: Policy
  onChanged: () => void
  onRemoved?: () => void
}) {
  const { id, name, version, is_active: isOn, managed_by, is_optional } = policy
  const may = useMay()
  const navigate = useNavigate()
  const [removing, setRemoving] = useState(false)
  const ifMatch = `"${version}"`
  const turn = async () => {
    const body = { is_active: !isOn }
    const run = () => call('PATCH /policies/{id}/', { path: { id }, body, ifMatch })
    try {
      await approvable(() => confirmed(run), isOn ? texts.turnedOff : texts.turnedOn)
    } catch (error) {
      sayFault(error)
    }
    onChanged()
  }
  const remove = async () => {
    const run = () => call('DELETE /policies/{id}/', { path: { id }, ifMatch })
    if (await approvable(() => confirmed(run), texts.removed)) onRemoved()
  }
  return (
    <>
      <Menu trigger={<Button kind="quiet" icon="dots" aria-label={texts.menu(name)} />}>
        <MenuItem icon="eye" onClick={() => void navigate({ to: '/policies/$id', params: { id } })}>
          {texts.open}
        </MenuItem>
        {may('policy:test') && (
          <MenuItem
            icon="play"
            onClick={() => void navigate({ to: '/playground', search: { policy: id } as never })}
          >
            {texts.tryOut}
          </MenuItem>
        )}
        {may('policy:update') && (!managed_by || is_optional) && (
          <MenuItem icon={isOn ? 'close' : 'check'} onClick={() => void turn()}>
            {isOn ? texts.turnOff : texts.turnOn}
          </MenuItem>
        )}
        {may('policy:delete') && !managed_by && (
          <MenuItem icon="trash" danger onClick={() => setRemoving(true)}>
            {texts.remove}
          </MenuItem>
        )}
      </Menu>
      {removing && <Removal texts={texts} name={name} remove={remove} onClose={() => setRemoving(false)} />}
    </>
  )
}
