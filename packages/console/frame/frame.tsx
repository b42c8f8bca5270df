import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import * as Dialog from 'base-ui/dialog'
import { useEffect, useRef, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { Confirmations } from '../parts/confirmation.tsx'
import { Icon } from '../parts/icon.tsx'
import { Toasts } from '../parts/toasts.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { AccountMenu } from './account-menu.tsx'
import { ActingBanner } from './acting-banner.tsx'
import { areas } from './areas.ts'
import { OrganisationSwitcher } from './organisation-switcher.tsx'
import { Progress } from './progress.tsx'
import { texts } from './texts.ts'

/** What was begun in one organisation ends with a switch, also one in another tab: everything but messages is new. */
export function Frame() {
  const { id, current_tenant: here } = useProfile()
  return (
    <>
      <Pages key={`${here.id} ${id}`} />
      <Toasts />
    </>
  )
}

/** Navigation at the side, the page beside it. */
function Pages() {
  const [open, setOpen] = useState(false)
  const address = useRouterState({ select: ({ location }) => location.pathname })
  useEffect(() => setOpen(false), [address])
  return (
    <div className="frame">
      <a className="skip" href="#content">
        {texts.skip}
      </a>
      <div className="side">
        <Side />
      </div>
      <div className="top">
        <Button kind="quiet" icon="menu" aria-label={texts.openMenu} onClick={() => setOpen(true)} />
        <OrganisationSwitcher />
      </div>
      <Dialog.Root open={open} onOpenChange={setOpen}>
        <Dialog.Portal>
          <Dialog.Backdrop className="veil" />
          <Dialog.Popup className="drawer" aria-label={texts.navigation}>
            <div className="side">
              <Side />
            </div>
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
      <Confirmations />
      <main className="sheet" id="content" tabIndex={-1}>
        <Progress />
        <ActingBanner />
        <Outlet />
      </main>
    </div>
  )
}

function Side() {
  const may = useMay()
  const { impersonator } = useProfile()
  const shown = areas
    .map(({ links, ...area }) => ({
      ...area,
      links: links.filter(({ needs, own }) => (!needs || may(needs)) && !(own && impersonator)),
    }))
    .filter(({ links }) => links.length > 0)
  const nav = useRef<HTMLElement>(null)
  const address = useRouterState({ select: ({ location }) => location.pathname })
  // On a low screen the link of the page can be below the links that are in view.
  useEffect(() => {
    if (address) nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [address])
  return (
    <>
      <OrganisationSwitcher />
      <nav ref={nav} className="side-nav" aria-label={texts.navigation}>
        {shown.map(({ title, links }) => (
          <div className="side-group" key={title}>
            <p className="side-title">{title}</p>
            {links.map(({ to, label, icon }) => (
              <Link
                key={to}
                to={to}
                className="side-link"
                activeOptions={{ exact: to === '/account' || to === '/', includeSearch: false }}
              >
                <Icon name={icon} />
                {label}
              </Link>
            ))}
          </div>
        ))}
      </nav>
      <AccountMenu />
    </>
  )
}
