import { useEffect, useState } from 'preact/hooks'
import type { CallDetail, CallItem } from '../../protocol.ts'
import { about, request } from '../model/api.ts'
import { callById, capture, revision } from '../model/call-list.ts'
import { now } from '../model/clock.ts'
import { setFilter } from '../model/filter.ts'
import { addressOf, open } from '../model/route.ts'
import { duration, shown, when } from '../model/words.ts'
import { useLoaded } from '../parts/hooks.ts'
import { StateMark, stateWords } from '../parts/marks.tsx'
import { Code, Empty, Facts, Fault } from '../parts/texts.tsx'
import { Flame } from './flame.tsx'

/** One call: its flame, its story, what decided it, and its link in the audit. */
export function CallDetailPane({ id }: { id: string }) {
  const { view, fault, reload } = useLoaded<CallDetail>(`calls/${id}`, 'capture')
  void revision.value
  const listed = callById(id)
  // The list has a newer state of the call than what was fetched.
  useEffect(() => {
    if (view !== undefined && listed !== undefined) reload()
  }, [listed?.state, listed?.ms])
  return (
    <aside class="detail" aria-label="One call">
      {fault !== undefined ? (
        <Empty title="This call is not here">
          <p>{fault}</p>
          <Close />
        </Empty>
      ) : view === undefined ? (
        <Empty title="Reading…" />
      ) : (
        <Detail detail={view} />
      )}
    </aside>
  )
}

const Close = () => (
  <button class="plain" onClick={() => open('calls')}>
    Close
  </button>
)

function Detail({ detail }: { detail: CallDetail }) {
  const { item, spans, story, decided, children } = detail
  const total = item.ms ?? Math.max(now.value - item.at, ...spans.map(({ fromMs, ms = 0 }) => fromMs + ms))
  return (
    <div class="stack">
      <header class="stack">
        <div class="row">
          <StateMark state={item.state} />
          <h2>{shown(item.tool)}</h2>
          <span class="push">
            <Close />
          </span>
        </div>
        {item.subject !== '' && <Code text={item.subject} label="What it is about" />}
        {item.message !== undefined && (
          <p class="fault">
            {item.code && <b>{shown(item.code)}: </b>}
            {shown(item.message)}
          </p>
        )}
        <Actions item={item} />
      </header>
      <section aria-label="Where the time went" class="panel">
        <div class="body">
          <Flame spans={spans} total={total} />
        </div>
      </section>
      <About item={item} detail={detail} />
      {decided.length > 0 && (
        <section class="panel">
          <header>
            <h3>Decided by</h3>
          </header>
          <div class="scrolls">
            <table>
              <tbody>
                {decided.map(({ stage, action, source, reason }) => (
                  <tr>
                    <td>{shown(stage)}</td>
                    <td class={`action ${action}`}>{shown(action)}</td>
                    <td>
                      {shown(source)}
                      <div class="quiet small">{shown(reason)}</div>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
      )}
      {story.length > 0 && (
        <section class="panel">
          <header>
            <h3>Story</h3>
          </header>
          <ol class="body story">
            {story.map((line) => (
              <li>{shown(line)}</li>
            ))}
          </ol>
        </section>
      )}
      {children.length > 0 && (
        <section class="panel">
          <header>
            <h3>Calls that it made</h3>
          </header>
          <ul class="body story">
            {children.map((child) => (
              <li class="row tight">
                <StateMark state={child.state} />
                <a href={addressOf('calls', child.id)}>{shown(child.tool)}</a>{' '}
                <span class="mono quiet ellipsis">{shown(child.subject)}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      <Captured detail={detail} />
    </div>
  )
}

function Actions({ item }: { item: CallItem }) {
  const [words, setWords] = useState<string>()
  const [fault, setFault] = useState<string>()
  const copy = (): void => {
    navigator.clipboard.writeText(location.href).then(
      () => setWords('Copied'),
      () => setFault('The browser does not let this page copy. The address of this tab is the link.'),
    )
  }
  const save = async (): Promise<void> => {
    const file = await (await request(`calls/${item.id}/export`)).blob()
    const address = URL.createObjectURL(file)
    Object.assign(document.createElement('a'), {
      href: address,
      download: `call-${item.call.replaceAll(/[^\w-]/g, '_')}.json`,
    }).click()
    setTimeout(() => URL.revokeObjectURL(address), 10_000)
  }
  return (
    <div class="row">
      <button onClick={copy}>{words ?? 'Copy link'}</button>
      <button onClick={() => void save().catch((error: Error) => setFault(error.message))}>Export JSON</button>
      <Fault>{fault}</Fault>
    </div>
  )
}

function About({ item, detail: { audit } }: { item: CallItem; detail: CallDetail }) {
  const waited = item.waitedMs ? `, of which people took ${duration(item.waitedMs)}` : ''
  const parent =
    item.parent === undefined ? undefined : `${encodeURIComponent(item.session)}/${encodeURIComponent(item.parent)}`
  return (
    <Facts
      of={[
        ['State', stateWords(item.state)],
        ['Began', when(item.at)],
        ['Took', item.ms === undefined ? 'it goes on' : `${duration(item.ms)}${waited}`],
        ['Because of', item.by && shown(item.by)],
        ['Offered by', item.origin === null ? 'no tool has this name' : shown(item.origin)],
        [
          'Session',
          <button
            class="plain"
            title="Show only the calls of this session"
            onClick={() => setFilter({ session: item.session })}
          >
            {shown(item.session)}
          </button>,
        ],
        ['Agent', item.agent && shown(item.agent)],
        ['For', item.principal && shown(item.principal)],
        ['Host', shown(item.host)],
        ['Called by', parent && <a href={addressOf('calls', parent)}>{shown(item.parent!)}</a>],
        [
          'Audit',
          audit && (
            <>
              <code>
                {shown(audit.chain)} {audit.position}
              </code>{' '}
              <code class="quiet small">{shown(audit.link)}</code>
            </>
          ),
        ],
      ]}
    />
  )
}

function Captured({ detail: { captured } }: { detail: CallDetail }) {
  if (captured === undefined) {
    const state = capture.value
    if (state === undefined) return null
    return (
      <p class="quiet small">
        {state.on
          ? 'Arguments and result of this call were not captured, or are no longer kept.'
          : `Arguments and results are not captured.${about.value?.decide ? ' The switch is below the list; it holds for later calls.' : ''}`}
      </p>
    )
  }
  return (
    <>
      <section class="stack">
        <h3>Arguments</h3>
        <Code text={captured.arguments} label="Arguments" />
      </section>
      {captured.result !== undefined && (
        <section class="stack">
          <h3>Result</h3>
          <Code text={captured.result} label="Result" />
        </section>
      )}
      {captured.cut && <p class="quiet small">What is long was cut.</p>}
    </>
  )
}
