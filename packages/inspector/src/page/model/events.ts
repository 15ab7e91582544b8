import { effect, signal } from '@preact/signals'
import type { InspectorEvent, Topic } from '../../protocol.ts'
import { about, request, setServerNow, signedOut } from './api.ts'

export type LinkState = 'connecting' | 'live' | 'lost'
export const link = signal<LinkState>('connecting')
/** How often the link came back. What was fetched before may be old. */
export const returns = signal(0)
/** When the next attempt begins. */
export const nextAttempt = signal<number | undefined>(undefined)

type Handlers = { readonly [Type in InspectorEvent['type']]?: (event: Extract<InspectorEvent, { type: Type }>) => void }
const listeners = new Set<Handlers>()

/** Returns how to stop. */
export function listen(handlers: Handlers): () => void {
  listeners.add(handlers)
  return () => void listeners.delete(handlers)
}

/** Topics beside `waiting`, by who needs them. */
const wanted = signal<readonly Topic[]>([])

/** Adds topics while a view is shown. Returns how to stop. */
export function want(...topics: readonly Topic[]): () => void {
  wanted.value = [...wanted.peek(), ...topics]
  return () => {
    const left = [...wanted.peek()]
    for (const topic of topics) left.splice(left.indexOf(topic), 1)
    wanted.value = left
  }
}

const PAUSES_MS = [300, 1_000, 2_000, 5_000]

/** Keeps one stream of events open while this tab is signed in. Connects again if it ends, or other topics are wanted. */
export function followEvents(): void {
  let stop = new AbortController()
  effect(() => {
    const topics = ['waiting', ...new Set(wanted.value)].join(',')
    stop.abort()
    if (about.value === undefined) return
    stop = new AbortController()
    void follow(topics, stop.signal)
  })
}

let skipPause = (): void => undefined
export const retryNow = (): void => skipPause()

async function follow(topics: string, stopped: AbortSignal): Promise<void> {
  // A view that opens takes its topics in the same tick in which the one before gives up its own.
  await Promise.resolve()
  for (let failures = 0; !stopped.aborted && signedOut.peek() === undefined;) {
    try {
      const answer = await request(`events?topics=${encodeURIComponent(topics)}`, { signal: stopped })
      if (link.peek() === 'lost') returns.value++
      link.value = 'live'
      failures = 0
      await readEvents(answer.body!, stopped)
    } catch {
      /* The link is lost, or this tab is signed out. */
    }
    if (stopped.aborted) return
    link.value = 'lost'
    await pause(PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)]!, stopped)
  }
}

function pause(ms: number, stopped: AbortSignal): Promise<void> {
  nextAttempt.value = Date.now() + ms
  return new Promise<void>((done) => {
    const timer = setTimeout(done, ms)
    skipPause = () => {
      clearTimeout(timer)
      done()
    }
    stopped.addEventListener('abort', skipPause, { once: true })
  }).finally(() => {
    nextAttempt.value = undefined
  })
}

async function readEvents(body: ReadableStream<Uint8Array>, stopped: AbortSignal): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done || stopped.aborted) return
    const blocks = (rest + value).split('\n\n')
    rest = blocks.pop()!
    for (const block of blocks) dispatch(block)
  }
}

/** One block of a stream of events. Lines with other names, and comments, are left out. */
function dispatch(block: string): void {
  const [type, data] = ['event: ', 'data: '].map((name) =>
    block
      .split('\n')
      .filter((line) => line.startsWith(name))
      .map((line) => line.slice(name.length))
      .join('\n'),
  )
  if (!data) return
  const event = { ...(JSON.parse(data) as object), type } as InspectorEvent
  if (event.type === 'hello') setServerNow(event.now)
  for (const handlers of listeners) (handlers[event.type] as ((one: InspectorEvent) => void) | undefined)?.(event)
}
