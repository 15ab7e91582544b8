import type { About } from '../../protocol.ts'
import { about, Fault, get, hasKey, setServerNow, signedOut, signIn, signOut } from './api.ts'
import { addressOf, replaceAddress, tokenOf } from './route.ts'

/** What a tab without a key was asked to open. The tab that gets a fresh link opens it. */
const WANTED = 'bulkhead.wanted'
const WANTED_MS = 15 * 60_000

/** Signs in with the token of the address, or with what this tab got before. */
export async function begin(): Promise<void> {
  const token = tokenOf(location.hash)
  // First of all: the token is in the address no longer than it must be.
  if (token !== undefined) replaceAddress(takeWanted())
  try {
    if (token !== undefined) await signIn(token)
    else if (hasKey()) about.value = await get<About>('about')
    else signedOut.value = 'This tab is not signed in.'
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    signOut(error.message)
  }
  if (about.value !== undefined) setServerNow(about.value.now)
  if (signedOut.value !== undefined) keepWanted()
}

/** A fresh link, or the token of it, that a person pasted. Throws a Fault. */
export async function beginWith(text: string): Promise<void> {
  await signIn(text.trim().replace(/^.*#/s, ''))
  takeWanted()
}

function keepWanted(): void {
  const { hash } = location
  if (!hash.startsWith('#/')) return
  try {
    localStorage.setItem(WANTED, JSON.stringify({ hash, at: Date.now() }))
  } catch { /* Storage is off. */ }
}

function takeWanted(): string {
  try {
    const { hash, at } = JSON.parse(localStorage.getItem(WANTED) ?? '{}') as { hash?: unknown; at?: number }
    localStorage.removeItem(WANTED)
    if (typeof hash === 'string' && hash.startsWith('#/') && Date.now() - (at ?? 0) < WANTED_MS) return hash
  } catch { /* Storage is off, or holds something else. */ }
  return addressOf('waiting')
}
