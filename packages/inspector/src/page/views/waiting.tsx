import { useState } from 'preact/hooks'
import type { WaitingItem } from '../../protocol.ts'
import { now } from '../model/clock.ts'
import { addressOf } from '../model/route.ts'
import { decided, inFront, putOff, waiting } from '../model/waiting.ts'
import { age, clock, plural, shortId, shown } from '../model/words.ts'
import { Empty } from '../parts/texts.tsx'
import { ApprovalBody } from './approval.tsx'
import { Later } from './answers.tsx'
import { QuestionBody } from './question.tsx'

/** The inbox of all sessions: first what has blocked an agent for longest. */
export function WaitingPage() {
  const view = waiting.value
  if (view === undefined) return <Empty title="Connecting…" />
  const items = inFront.value
  return (
    <div class="column">
      {decided.value !== undefined && <p class="done small">{shown(decided.value)}</p>}
      {items.length === 0 ? (
        <NothingWaits />
      ) : (
        <ul class="inbox" aria-label="Waiting for a person">
          {items.map((item, at) => (
            <li key={item.id}>
              <Question item={item} isFirst={at === 0} />
            </li>
          ))}
        </ul>
      )}
      {view.more > 0 && (
        <p class="done">{plural(view.more, 'more question')} wait. They come up when these are answered.</p>
      )}
      {putOff.value.length > 0 && (
        <section class="later" aria-labelledby="later">
          <h3 id="later">Not now</h3>
          <ul class="inbox">
            {putOff.value.map((item) => (
              <li key={item.id}>
                <Question item={item} isFirst={false} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  )
}

const NothingWaits = () => (
  <Empty title="Nothing waits for you">
    <p>When an agent needs a person, its question comes up here, oldest first. The title of this tab says so.</p>
    <p>
      <a href={addressOf('calls')}>See what agents do</a>
    </p>
  </Empty>
)

function Question({ item, isFirst }: { item: WaitingItem; isFirst: boolean }) {
  const [isOpen, setOpen] = useState(false)
  if (!isFirst && !isOpen) return <Folded item={item} onOpen={() => setOpen(true)} />
  return (
    <article class={`panel question${isFirst ? ' first' : ''}`} aria-label={titleOf(item)}>
      <header>
        <h2 tabIndex={-1}>{titleOf(item)}</h2>
        <span class="push row tight">
          <Age item={item} />
          {!isFirst && (
            <button class="plain" onClick={() => setOpen(false)}>
              Fold
            </button>
          )}
        </span>
        <Chain item={item} />
      </header>
      {item.kind === 'approval' ? (
        <ApprovalBody key={item.digest} item={item} />
      ) : (
        <QuestionBody key={item.digest} item={item} />
      )}
    </article>
  )
}

function Folded({ item, onOpen }: { item: WaitingItem; onOpen(): void }) {
  return (
    <div class="panel">
      <button class="folded" aria-expanded={false} onClick={onOpen}>
        <b class="ellipsis">{titleOf(item)}</b>
        <Age item={item} />
        <span class="mono ellipsis">{summaryOf(item)}</span>
      </button>
    </div>
  )
}

/** For how long it has waited, or until when it is put off. */
function Age({ item }: { item: WaitingItem }) {
  const { laterUntil } = item
  return laterUntil !== undefined && laterUntil > now.value ? (
    <span class="quiet">until {clock(laterUntil)}</span>
  ) : (
    <span class="age" role="timer">
      {age(now.value - item.since)}
    </span>
  )
}

const titleOf = (item: WaitingItem): string =>
  shown(item.kind === 'approval' ? `${item.tool} asks for approval` : `${item.from} asks you`)

function summaryOf(item: WaitingItem): string {
  if (item.kind === 'approval') return shown((item.command ?? item.touches[0] ?? item.argumentsText).split('\n')[0]!)
  const { request } = item
  return shown(
    'prompt' in request ? request.prompt.split('\n')[0]! : request.kind === 'trustProject' ? request.path : request.url,
  )
}

/** Who calls: from the tool that the model called to the one that asks, and in which session. */
function Chain({ item }: { item: WaitingItem }) {
  const facts = [
    item.agent && `agent ${item.agent}`,
    item.principal && `for ${item.principal}`,
    item.session && `session ${shortId(item.session)}`,
    item.paused && 'paused: goes on when the session resumes',
  ].filter((one): one is string => typeof one === 'string')
  return (
    <div class="chain" style={{ width: '100%' }}>
      {item.chain.length > 1 && (
        <span aria-label="Called by">
          {item.chain.map((tool, at) => (
            <>
              {at > 0 && <span aria-hidden="true"> › </span>}
              <b>{shown(tool)}</b>
            </>
          ))}
        </span>
      )}
      {facts.map((fact) => (
        <span class="ellipsis">{shown(fact)}</span>
      ))}
      {item.session !== undefined && item.call !== undefined && (
        <a href={addressOf('calls', `${encodeURIComponent(item.session)}/${encodeURIComponent(item.call)}`)}>
          the call
        </a>
      )}
      {item.laterUntil === undefined && !item.unanswerable && (
        <span class="push">
          <Later item={item} />
        </span>
      )}
    </div>
  )
}
