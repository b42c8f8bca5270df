import { Problem } from '@bailiwick/client'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { changed } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { confirmed } from '../parts/confirmation.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { Menu, MenuItem, MenuLine } from '../parts/menu.tsx'
import { Removal } from '../parts/removal.tsx'
import { sayFault } from '../parts/toasts.tsx'
import { useMay } from '../session/session.ts'
import { ConnectionForm } from './connection-form.tsx'
import type { Opened } from './state.tsx'
import { texts } from './texts.ts'

type Asked = 'edit' | 'activate' | 'disable' | 'remove' | null

/** What can be done with a connection: a menu, the buttons that try and activate it, and the dialogs. */
export function useConnectionActions(opened: Opened) {
  const { id, name, status } = opened.body
  const path = { id }
  const navigate = useNavigate()
  const may = useMay()
  const [asked, setAsked] = useState<Asked>(null)
  const [isTrying, setTrying] = useState(false)
  const set = (status: 'active' | 'disabled', done: string) =>
    changed('connections', () => call('PATCH /connections/{id}/', { path, body: { status } }), done)
  const activate = () =>
    set('active', texts.activated).catch((error) => {
      const { code } = asProblem(error)
      throw code === 'invalid_state' ? new Problem(409, { code, detail: texts.activating.untried }) : error
    })
  const tryIt = async () => {
    // Browsers open a tab only at the click itself.
    const tab = open('about:blank')
    if (tab) tab.opener = null
    setTrying(true)
    try {
      const { url } = await confirmed(() => call('POST /connections/{id}/test/', { path }))
      if (tab) tab.location.replace(url)
      else location.assign(url)
    } catch (error) {
      tab?.close()
      sayFault(error)
    } finally {
      setTrying(false)
    }
  }
  const remove = async () => {
    if (await changed('connections', () => call('DELETE /connections/{id}/', { path }), texts.removed))
      await navigate({ to: '/connections' })
  }
  const close = () => setAsked(null)
  const canEdit = may('connection:update')
  return {
    test: may('connection:test') && (
      <Button icon="play" busy={isTrying} onClick={() => void tryIt()}>
        {texts.test}
      </Button>
    ),
    activate: may('connection:activate') && (
      <Button kind="primary" onClick={() => setAsked('activate')}>
        {texts.activate}
      </Button>
    ),
    menu: (canEdit || may('connection:delete')) && (
      <Menu trigger={<Button icon="dots" aria-label={texts.actions} />}>
        {canEdit && (
          <MenuItem icon="link" onClick={() => setAsked('edit')}>
            {texts.edit}
          </MenuItem>
        )}
        {canEdit && status === 'active' && (
          <MenuItem icon="clock" onClick={() => setAsked('disable')}>
            {texts.disable}
          </MenuItem>
        )}
        {may('connection:delete') && (
          <>
            <MenuLine />
            <MenuItem icon="trash" danger onClick={() => setAsked('remove')}>
              {texts.remove}
            </MenuItem>
          </>
        )}
      </Menu>
    ),
    dialogs: (
      <>
        {asked === 'edit' && <ConnectionForm connection={opened} onClose={close} />}
        {asked === 'activate' && (
          <FormDialog
            open
            onClose={close}
            title={texts.activating.title(name)}
            about={texts.activating.about}
            go={texts.activate}
            submit={activate}
          />
        )}
        {asked === 'disable' && (
          <Removal
            texts={{ removing: texts.disabling, remove: texts.disable }}
            name={name}
            remove={() => set('disabled', texts.disabled)}
            onClose={close}
          />
        )}
        {asked === 'remove' && <Removal {...{ texts, name, remove }} onClose={close} />}
      </>
    ),
  }
}
