import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router'
import { prefix } from './api/client.ts'
import { Crashed, Missing, Root } from './frame/root.tsx'

const root = createRootRoute({ component: Root, notFoundComponent: Missing })
const getParentRoute = () => root

const home = createRoute({
  getParentRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/account', replace: true })
  },
})

const account = createRoute({
  getParentRoute,
  path: '/account',
  component: lazyRouteComponent(() => import('./account/account-page.tsx'), 'ProfilePage'),
})

const security = createRoute({
  getParentRoute,
  path: '/account/security',
  component: lazyRouteComponent(() => import('./account/security-page.tsx'), 'SecurityPage'),
})

const sessions = createRoute({
  getParentRoute,
  path: '/account/sessions',
  component: lazyRouteComponent(() => import('./account/sessions-page.tsx'), 'SessionsPage'),
})

export const router = createRouter({
  routeTree: root.addChildren([home, account, security, sessions]),
  basepath: `${prefix}/console`,
  trailingSlash: 'preserve',
  defaultErrorComponent: Crashed,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
