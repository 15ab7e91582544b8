import { computed, signal } from '@preact/signals'

export const VIEWS = ['waiting', 'calls', 'tools', 'policy', 'health'] as const
export type View = (typeof VIEWS)[number]

export interface Route {
  readonly view: View
  /** The rest of the address: the id of a call, for Calls. */
  readonly rest: string
}

/** Addresses are fragments, `#/calls/ID`, because an embedder may serve the page below any path. */
const fragment = signal(location.hash)
addEventListener('hashchange', () => { fragment.value = location.hash })

export const route = computed<Route>(() => readRoute(fragment.value))

function readRoute(hash: string): Route {
  const [, view, ...rest] = hash.slice(1).split('/')
  const known = VIEWS.find((one) => one === view)
  return known === undefined ? { view: 'waiting', rest: '' } : { view: known, rest: rest.join('/') }
}

/** The token of a printed address. Addresses of views begin with a slash. */
export const tokenOf = (hash: string): string | undefined => /^#([^/].*)$/.exec(hash)?.[1]

export const addressOf = (view: View, rest = ''): string => `#/${view}${rest && `/${rest}`}`

/** Replaces what the address line says, without a step in the history. */
export function replaceAddress(address: string): void {
  history.replaceState(null, '', address)
  fragment.value = location.hash
}

export function open(view: View, rest = ''): void {
  location.hash = addressOf(view, rest)
}
