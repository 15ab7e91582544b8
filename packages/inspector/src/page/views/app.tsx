import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { about, signedOut } from '../model/api.ts'
import { now } from '../model/clock.ts'
import { link, nextAttempt, retryNow } from '../model/events.ts'
import { addressOf, route, VIEWS, type View } from '../model/route.ts'
import { decided, waitingCount } from '../model/waiting.ts'
import { shown } from '../model/words.ts'
import { Brand } from '../parts/marks.tsx'
import { Empty } from '../parts/texts.tsx'
import { CallsPage } from './calls.tsx'
import { SignInPage } from './sign-in.tsx'
import { WaitingPage } from './waiting.tsx'

const NAMES: Readonly<Record<View, string>> = {
  waiting: 'Waiting',
  calls: 'Calls',
  tools: 'Tools',
  policy: 'Policy',
  health: 'Health',
}

/** What is not needed at first is fetched when it is opened. */
const PAGES: Readonly<Record<View, ComponentType | (() => Promise<ComponentType>)>> = {
  waiting: WaitingPage,
  calls: CallsPage,
  tools: async () => (await import('./tools.tsx')).ToolsPage,
  policy: async () => (await import('./policy.tsx')).PolicyPage,
  health: async () => (await import('./health.tsx')).HealthPage,
}
const LATE: ReadonlySet<View> = new Set(['tools', 'policy', 'health'])

export function App() {
  if (signedOut.value !== undefined)
    return (
      <>
        <Top />
        <div />
        <main>
          <SignInPage why={signedOut.value} />
        </main>
      </>
    )
  const { view } = route.value
  return (
    <>
      <Top />
      <Notice />
      <main class={view === 'calls' ? 'filled' : ''} id="main" tabIndex={0} aria-label={NAMES[view]}>
        <h1 class="for-readers">{NAMES[view]}</h1>
        {about.value === undefined ? <Empty title="Connecting…" /> : <Page key={view} view={view} />}
      </main>
      <Announced />
    </>
  )
}

function Page({ view }: { view: View }) {
  const page = PAGES[view]
  const [Late, setLate] = useState<{ page: ComponentType }>()
  const [fault, setFault] = useState<string>()
  useEffect(() => {
    if (!LATE.has(view)) return
    ;(page as () => Promise<ComponentType>)().then(
      (found) => setLate({ page: found }),
      (error: Error) => setFault(error.message),
    )
  }, [view])
  if (fault !== undefined) {
    return (
      <Empty title="This view could not be loaded">
        <p>{fault}</p>
        <button onClick={() => location.reload()}>Reload the page</button>
      </Empty>
    )
  }
  const Found = LATE.has(view) ? Late?.page : (page as ComponentType)
  return Found === undefined ? null : <Found />
}

function Top() {
  const { view } = route.value
  const count = waitingCount.value
  const isIn = signedOut.value === undefined
  return (
    <header class="top">
      <a class="brand" href={addressOf('waiting')}>
        <Brand />
        Bulkhead
      </a>
      {isIn && (
        <nav class="nav" aria-label="Views">
          {VIEWS.map((one) => (
            <a href={addressOf(one)} aria-current={one === view && isIn ? 'page' : undefined}>
              {NAMES[one]}
              {one === 'waiting' && count > 0 && (
                <span class="count" aria-label={`${count} waiting`}>
                  {count}
                </span>
              )}
            </a>
          ))}
        </nav>
      )}
      <div class="top-end">{isIn && about.value !== undefined && <LinkState />}</div>
    </header>
  )
}

function LinkState() {
  const { workspace, decide, scope, version } = about.value!
  return (
    <>
      <span
        class="workspace ellipsis"
        title={`${shown(workspace)}, Bulkhead ${version}, ${scope === 'store' ? 'every host on the store' : 'one host'}`}
      >
        {shown(workspace.split(/[\\/]/).findLast((part) => part !== '') ?? workspace)}
      </span>
      {!decide && (
        <span class="badge" title="Started without --decide: this page answers nothing and switches nothing.">
          read-only
        </span>
      )}
      <span class="link-state">
        <span class={`dot ${link.value}`} />
        {link.value}
      </span>
    </>
  )
}

function Notice() {
  if (link.value !== 'lost') return <div />
  const ms = Math.max(0, (nextAttempt.value ?? 0) - Date.now())
  void now.value
  return (
    <div class="notice broken" role="status">
      <span>
        The connection to the inspector is lost. What you see may be old.
        {ms >= 1_000 && ` Next attempt in ${Math.ceil(ms / 1_000)} s.`}
      </span>
      <button class="push" onClick={retryNow}>
        Connect now
      </button>
    </div>
  )
}

/** For screen readers: how many questions wait, and what a decision did. It never takes the focus. */
function Announced() {
  const count = waitingCount.value
  const before = useRef(0)
  const [words, setWords] = useState('')
  useEffect(() => {
    if (count > before.current) setWords(`${count} ${count === 1 ? 'question waits' : 'questions wait'} for a person.`)
    before.current = count
  }, [count])
  return (
    <div class="for-readers" role="status">
      {words} {decided.value}
    </div>
  )
}
