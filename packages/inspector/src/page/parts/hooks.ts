import { signal, type ReadonlySignal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { get } from '../model/api.ts'
import { listen, returns } from '../model/events.ts'
import type { ChangedEvent } from '../../protocol.ts'

/** Short, so that a person who waits for it hardly does, and long enough that nobody clicks what just appeared. */
const INERT_MS = 500

/** Whether something that appeared may be used: half a second after it could be seen. `of` changes with what is shown. */
export function useArmed(of: string): boolean {
  const [armed, setArmed] = useState<string>()
  useEffect(() => {
    let timer = 0
    const restart = (): void => {
      clearTimeout(timer)
      setArmed(undefined)
      if (document.visibilityState === 'visible') timer = window.setTimeout(() => setArmed(of), INERT_MS)
    }
    restart()
    document.addEventListener('visibilitychange', restart)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', restart)
    }
  }, [of])
  return armed === of
}

interface Loaded<View> {
  readonly view?: View
  readonly fault?: string
  reload(): void
  replace(view: View): void
}

/** What a request answers with. Again when the address changes, or the server says that it is different now. */
export function useLoaded<View>(path: string, what?: ChangedEvent['what']): Loaded<View> {
  const [found, setFound] = useState<{ path: string; view?: View; fault?: string }>({ path })
  const [times, setTimes] = useState(0)
  const reload = (): void => setTimes((count) => count + 1)
  useEffect(() => {
    const stop = new AbortController()
    get<View>(path, stop.signal).then(
      (view) => setFound({ path, view }),
      (error: Error) => {
        if (!stop.signal.aborted) setFound({ path, fault: error.message })
      },
    )
    return () => stop.abort()
  }, [path, times, returns.value])
  useEffect(() => {
    let timer = 0
    const soon = (): void => {
      clearTimeout(timer)
      timer = window.setTimeout(reload, 300)
    }
    const stop = listen({
      changed: (event) => {
        if (event.what === what) soon()
      },
      resync: soon,
    })
    return () => {
      clearTimeout(timer)
      stop()
    }
  }, [what])
  const { path: _, ...current } = found.path === path ? found : { path }
  return { ...current, reload, replace: (view) => setFound({ path, view }) }
}

/** A narrow page, as on a telephone. */
const narrow = matchMedia('(max-width: 640px)')
const narrowSignal = signal(narrow.matches)
narrow.addEventListener('change', () => {
  narrowSignal.value = narrow.matches
})
export const isNarrow: ReadonlySignal<boolean> = narrowSignal
