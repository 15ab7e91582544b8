import { computed, effect, signal } from '@preact/signals'
import type { CallItem, CallsView, CaptureState, SessionItem } from '../../protocol.ts'
import { get } from './api.ts'
import { listen } from './events.ts'
import { filter, matches, queryOf, type CallFilter } from './filter.ts'

/** More than that leave the list: the oldest go, and can be fetched again. */
const MOST = 10_000
const FEWER = 8_000

/** Calls by id, and the ids of those that match the filter, in order of their start. */
const calls = new Map<string, CallItem>()
let order: string[] = []

/** Counts changes of the list: at most one each frame of the browser. */
export const revision = signal(0)
/** How many calls were added after the last one, in all: what a reader who scrolled down has not seen. */
export const added = signal(0)
export const callCount = computed(() => (revision.value, order.length))
/** The newest has index 0. */
export const callAt = (index: number): CallItem | undefined => calls.get(order[order.length - 1 - index] ?? '')
export const callById = (id: string): CallItem | undefined => calls.get(id)
export const indexOf = (id: string): number => order.length - 1 - order.lastIndexOf(id)

export const sessions = signal<readonly SessionItem[]>([])
export const tools = signal<readonly string[]>([])
export const reach = signal('')
export const capture = signal<CaptureState | undefined>(undefined)
const older = signal<string | undefined>(undefined)
export const listState = signal<'loading' | 'ready' | { readonly fault: string }>('loading')

let announced = false
/** Many changes of one frame are one change of the list. */
function changed(): void {
  if (announced) return
  announced = true
  requestAnimationFrame(() => {
    announced = false
    revision.value++
  })
}

/** Puts calls where they belong. A call that is known is replaced. */
function take(items: readonly CallItem[], by: CallFilter): void {
  let fresh = 0
  for (const item of items) {
    const isKnown = calls.has(item.id)
    if (listState.peek() === 'loading') arrived.set(item.id, item)
    if (!isKnown && !matches(item, by)) continue
    calls.set(item.id, item)
    if (isKnown) continue
    if (order.length > 0 && calls.get(order.at(-1)!)!.at > item.at) insert(item)
    else order.push(item.id)
    fresh++
  }
  added.value += fresh
  if (order.length > MOST) dropOldest()
  changed()
}

/** A call that began earlier than the last one: its host is slower, or it matches only now. */
function insert({ id, at }: CallItem): void {
  let place = order.length
  while (place > 0 && calls.get(order[place - 1]!)!.at > at) place--
  order.splice(place, 0, id)
}

function dropOldest(): void {
  const dropped = order.slice(0, order.length - FEWER)
  order = order.slice(-FEWER)
  for (const id of dropped) calls.delete(id)
  // Only a fresh list knows where the older ones begin.
  older.value = undefined
}

let loading = new AbortController()
/** What came by events while the list was being fetched: it is newer. */
const arrived = new Map<string, CallItem>()
let loadedBy = filter.peek()

/** The list from the beginning. What is shown stays until the answer is there. */
async function loadCalls(): Promise<void> {
  loading.abort()
  loading = new AbortController()
  arrived.clear()
  listState.value = 'loading'
  const by = loadedBy = filter.peek()
  await page(queryOf(by), loading.signal, () => {
    calls.clear()
    order = []
    return [...arrived.values()].filter((item) => matches(item, by))
  })
}

export async function loadOlder(): Promise<void> {
  const before = older.peek()
  if (before === undefined) return
  older.value = undefined
  await page(queryOf(filter.peek(), before), loading.signal, () => [])
}

/** `newer`: called when the answer is there, for calls that are newer than those of the answer. */
async function page(query: string, stopped: AbortSignal, newer: () => readonly CallItem[]): Promise<void> {
  try {
    const view = await get<CallsView>(`calls?${query}`, stopped)
    for (const item of newer()) calls.set(item.id, item)
    for (const item of view.items) if (!calls.has(item.id)) calls.set(item.id, item)
    order = [...calls.values()].toSorted((a, b) => a.at - b.at).map(({ id }) => id)
    sessions.value = view.sessions
    tools.value = view.tools
    reach.value = view.reach
    capture.value = view.capture
    older.value = view.next
    listState.value = 'ready'
    changed()
  } catch (error) {
    if (!stopped.aborted) listState.value = { fault: (error as Error).message }
  }
}

/** While the list is shown. Returns how to stop. */
export function followCalls(): () => void {
  const stopListening = listen({
    calls: ({ items }) => take(items, filter.peek()),
    hello: () => void loadCalls(),
    resync: () => void loadCalls(),
    changed: ({ what, capture: state }) => { if (what === 'capture' && state) capture.value = state },
  })
  // Each connection begins with a list.
  const stopFiltering = effect(() => { if (filter.value !== loadedBy) void loadCalls() })
  return () => {
    stopListening()
    stopFiltering()
    loading.abort()
  }
}
