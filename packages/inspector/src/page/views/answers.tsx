import { useState } from 'preact/hooks'
import type { JsonObject } from '@bulkhead/kit/json'
import type { RuleDraft, WaitingAnswer, WaitingApproval, WaitingItem } from '../../protocol.ts'
import { decide } from '../model/waiting.ts'
import { shown, when, zone } from '../model/words.ts'
import { useArmed } from '../parts/hooks.ts'
import { Fault } from '../parts/texts.tsx'
import { passkeyFor } from '../model/passkey.ts'

/** What is sent beside the answer. */
interface Limits {
  readonly until?: number
  readonly times?: number
  readonly rule?: Omit<RuleDraft, 'file'>
}

/** Deciding one question: inert at first and while it is decided, and what went wrong. */
export function useDeciding(item: WaitingItem): {
  readonly isInert: boolean
  readonly fault: string | undefined
  readonly take: (work: () => Promise<void>) => void
} {
  const isArmed = useArmed(item.digest)
  const [isBusy, setBusy] = useState(false)
  const [fault, setFault] = useState<string>()
  const take = (work: () => Promise<void>): void => {
    setBusy(true)
    setFault(undefined)
    // The focus stays near: the next question takes this one's place, and its buttons must not have it.
    work().then(
      () => document.getElementById('main')?.focus({ preventScroll: true }),
      (error: Error) => {
        setFault(error.message)
        setBusy(false)
      },
    )
  }
  return { isInert: !isArmed || isBusy, fault, take }
}

/** "Not now": no denial, the question keeps waiting. */
export function Later({ item }: { item: WaitingItem }) {
  const { isInert, fault, take } = useDeciding(item)
  return (
    <>
      <button
        class="plain"
        disabled={isInert}
        title="No denial: it keeps waiting, and comes back in 15 minutes"
        onClick={() => take(() => decide(item, { do: 'later', minutes: 15 }))}
      >
        Not now
      </button>
      <Fault>{fault}</Fault>
    </>
  )
}

interface Answers {
  readonly item: WaitingApproval
  readonly edited: JsonObject | undefined
  /** The edited arguments cannot be sent. */
  readonly isHeld: boolean
}

/** From the least permissive: deny, this call, then what lasts longer. */
export function ApprovalAnswers({ item, edited, isHeld }: Answers) {
  const { isInert, fault, take } = useDeciding(item)
  const [reason, setReason] = useState<string>()
  const allow = (answer: WaitingAnswer, limits: Limits = {}): void =>
    take(async () => {
      const passkey = item.passkey && (await passkeyFor(item.passkey))
      await decide(item, {
        do: 'allow',
        answer: answer.id,
        ...limits,
        ...(edited && { arguments: edited }),
        ...(passkey && { passkey }),
      })
    })
  const deny = (): void => take(() => decide(item, { do: 'reject', ...(reason?.trim() && { reason: reason.trim() }) }))
  const [once, ...longer] = item.answers
  return (
    <fieldset class="answers" disabled={isInert || isHeld} aria-label="Answers">
      <div class="answer-row first">
        <button class="deny" onClick={deny}>
          Deny
        </button>
        {once !== undefined && (
          <button class="main" onClick={() => allow(once)}>
            Allow {shown(once.words)}
            {edited && ', as edited'}
          </button>
        )}
        {reason === undefined && (
          <button class="plain" onClick={() => setReason('')}>
            Deny with a reason…
          </button>
        )}
      </div>
      {reason !== undefined && (
        <form
          class="answer-row"
          onSubmit={(event) => {
            event.preventDefault()
            deny()
          }}
        >
          <label class="field" style={{ flex: '1' }}>
            Reason, for the model
            <input value={reason} maxLength={1_000} onInput={(event) => setReason(event.currentTarget.value)} />
          </label>
        </form>
      )}
      {item.passkey !== undefined && <p class="small person">A rule demands your passkey: this browser asks for it.</p>}
      {longer.map((answer) =>
        answer.rule === undefined ? (
          <Lasting key={answer.id} answer={answer} onAllow={(limits) => allow(answer, limits)} />
        ) : (
          <Always key={answer.id} answer={answer} draft={answer.rule} onAllow={(limits) => allow(answer, limits)} />
        ),
      )}
      <Fault>{fault}</Fault>
    </fieldset>
  )
}

interface Lasts {
  readonly answer: WaitingAnswer
  onAllow(limits?: Limits): void
}

/** An answer for more than this call: for the task, until a time of day, or at most so often. */
function Lasting({ answer, onAllow }: Lasts) {
  const [until, setUntil] = useState(nextHours)
  const [times, setTimes] = useState(5)
  const at = nextTime(until)
  return (
    <div class="answer-row">
      <button onClick={() => onAllow()}>Allow {shown(answer.words)}</button>
      {answer.limits.includes('until') && (
        <form
          class="limit"
          onSubmit={(event) => {
            event.preventDefault()
            onAllow({ until: at })
          }}
        >
          until{' '}
          <input
            type="time"
            required
            value={until}
            aria-label={`Until, ${zone(at)}`}
            title={when(at)}
            onInput={(event) => setUntil(event.currentTarget.value)}
          />{' '}
          {zone(at)}
          <button aria-label={`Allow ${shown(answer.words)} until ${until} ${zone(at)}`}>Allow</button>
        </form>
      )}
      {answer.limits.includes('times') && (
        <form
          class="limit"
          onSubmit={(event) => {
            event.preventDefault()
            onAllow({ times })
          }}
        >
          at most{' '}
          <input
            type="number"
            required
            min={1}
            max={1_000}
            value={times}
            aria-label="At most this many times"
            onInput={(event) => setTimes(event.currentTarget.valueAsNumber)}
          />{' '}
          times
          <button aria-label={`Allow ${shown(answer.words)} at most ${times} times`}>Allow</button>
        </form>
      )}
    </div>
  )
}

/** Two hours from now, at the full hour: "17:00". */
function nextHours(): string {
  const hours = new Date(Date.now() + 7_200_000).getHours()
  return `${String(hours).padStart(2, '0')}:00`
}

/** The next time that a clock here shows this. */
function nextTime(shownTime: string): number {
  const [hours = 0, minutes = 0] = shownTime.split(':').map(Number)
  const at = new Date()
  at.setHours(hours, minutes, 0, 0)
  if (at.getTime() <= Date.now()) at.setDate(at.getDate() + 1)
  return at.getTime()
}

/** Saves a rule: shows exactly which, and it may be changed before. */
function Always({ answer, draft, onAllow }: Lasts & { draft: RuleDraft }) {
  const [isOpen, setOpen] = useState(false)
  const [permission, setPermission] = useState(draft.permission)
  const [pattern, setPattern] = useState(draft.pattern)
  if (!isOpen)
    return (
      <div class="answer-row">
        <button onClick={() => setOpen(true)}>Allow {shown(answer.words)}…</button>
      </div>
    )
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        onAllow({ rule: { permission, pattern, action: draft.action } })
      }}
    >
      <p>
        This rule is saved
        {draft.file && (
          <>
            {' '}
            in <code>{shown(draft.file)}</code>
          </>
        )}{' '}
        and decides such calls from now on:
      </p>
      <div class="rule-draft">
        <label class="field">
          {draft.action}
          <input
            class="mono"
            required
            value={shown(permission)}
            onInput={(event) => setPermission(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          pattern
          <input
            class="mono"
            required
            value={shown(pattern)}
            onInput={(event) => setPattern(event.currentTarget.value)}
          />
        </label>
      </div>
      <div class="row">
        <button class="main">Save the rule and allow</button>
        <button type="button" class="plain" onClick={() => setOpen(false)}>
          Back
        </button>
      </div>
    </form>
  )
}
