import { signal } from '@preact/signals'
import type { About, InspectorFault, InspectorFaultCode, SignedIn } from '../../protocol.ts'

/** What this client gets for a token. A reload of the tab keeps it; other tabs do not see it. */
const KEY = 'bulkhead.key'

export const about = signal<About | undefined>(undefined)

/** An answer of the server with a status of 400 or more, or none at all. */
export class Fault extends Error {
  readonly code: InspectorFaultCode | 'Unreachable'

  constructor(code: InspectorFaultCode | 'Unreachable', message: string) {
    super(message)
    this.code = code
  }
}

const address = (path: string): string => new URL(`./api/${path}`, document.baseURI).href
const headers = (): Record<string, string> => {
  const key = sessionStorage.getItem(KEY)
  return key === null ? {} : { authorization: `Bearer ${key}` }
}

export async function request(to: string, init: RequestInit = {}): Promise<Response> {
  const answer = await fetch(address(to), {
    ...init,
    headers: { ...headers(), ...(init.body === undefined ? {} : { 'content-type': 'application/json' }) },
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
  }).catch(() => undefined)
  if (init.signal?.aborted) throw new Fault('Unreachable', 'The request was cancelled.')
  if (answer === undefined) throw new Fault('Unreachable', 'The inspector does not answer.')
  if (answer.ok) return answer
  const body = (await answer.json().catch(() => undefined)) as Partial<InspectorFault> | undefined
  const { code = 'Failed', message = `The inspector answered with status ${answer.status}.` } = body?.error ?? {}
  if (code === 'SignInNeeded')
    signOut('The key of this tab is void: the inspector was started again, or never knew it.')
  throw new Fault(code, message)
}

export const get = async <Answer>(path: string, aborted?: AbortSignal): Promise<Answer> =>
  (await (await request(path, aborted ? { signal: aborted } : {})).json()) as Answer

export const post = async <Answer>(path: string, body: object): Promise<Answer> =>
  (await (await request(path, { method: 'POST', body: JSON.stringify(body) })).json()) as Answer

/** Why this tab is signed out, in words. Undefined: it is not. */
export const signedOut = signal<string | undefined>(undefined)

export function signOut(why: string): void {
  sessionStorage.removeItem(KEY)
  about.value = undefined
  signedOut.value = why
}

/** Uses up a token. Throws a Fault. */
export async function signIn(token: string): Promise<void> {
  const { key, about: found } = await post<SignedIn>('sign-in', { token })
  sessionStorage.setItem(KEY, key)
  about.value = found
  signedOut.value = undefined
}

export const hasKey = (): boolean => sessionStorage.getItem(KEY) !== null

/** Difference of the clocks, so that an age is right on another machine. */
const skew = signal(0)
export const serverNow = (): number => Date.now() + skew.value
export const setServerNow = (now: number): void => {
  skew.value = now - Date.now()
}
