import { computed, effect, signal } from '@preact/signals'
import type { Decision, DecisionTaken, PasskeyDemand, WaitingItem, WaitingView } from '../../protocol.ts'
import { post } from './api.ts'
import { now } from './clock.ts'
import { listen } from './events.ts'
import { passkeyFor } from './passkey.ts'
import { age } from './words.ts'

export const waiting = signal<WaitingView | undefined>(undefined)

const isLater = (item: WaitingItem): boolean => item.laterUntil !== undefined && item.laterUntil > now.value

/** Oldest first. Without what a person put off. */
export const inFront = computed(() => waiting.value?.items.filter((item) => !isLater(item)) ?? [])
export const putOff = computed(() => waiting.value?.items.filter(isLater) ?? [])
export const waitingCount = computed(() => inFront.value.length + (waiting.value?.more ?? 0))

/**
 * Changes with a question, and with where it stands: if one above it is answered elsewhere, it moves under the pointer of a
 * person who was about to click something else.
 */
export function placeOf(item: WaitingItem): string {
  const ids = [...inFront.value, ...putOff.value].map(({ id }) => id)
  return [...ids.slice(0, ids.indexOf(item.id)), item.digest].join(' ')
}

/** The last decision of this tab, in words. */
export const decided = signal<string | undefined>(undefined)

type WithoutDigest<One> = One extends unknown ? Omit<One, 'digest'> : never

/** Asks the browser for a passkey first, if a rule demands one. Throws an Error for people. */
export async function decide(item: WaitingItem, decision: WithoutDigest<Decision>): Promise<void> {
  const path = `waiting/${encodeURIComponent(item.id)}`
  const body = { ...decision, digest: item.digest }
  const needed = item.kind === 'approval' && item.passkey && decision.do === 'allow'
  const passkey = needed ? await passkeyFor(await post<PasskeyDemand>(`${path}/passkey`, body)) : undefined
  const { words } = await post<DecisionTaken>(path, { ...body, ...(passkey && { passkey }) })
  decided.value = words
}

/** The title and the icon of the tab say what waits: "2 wait, 40 s". Returns how to stop. */
export function followWaiting(): void {
  listen({
    waiting: ({ view }) => {
      waiting.value = view
    },
  })
  effect(() => {
    const [oldest] = inFront.value
    const count = waitingCount.value
    document.title =
      oldest === undefined
        ? 'Bulkhead inspector'
        : `${count} ${count === 1 ? 'waits' : 'wait'}, ${age(now.value - oldest.since)}`
  })
  effect(() => {
    const count = waitingCount.value
    const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')!
    icon.href = `./assets/icon${count === 0 ? '' : `-${count > 9 ? 'more' : count}`}.svg`
  })
}
