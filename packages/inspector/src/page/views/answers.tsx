import { useState } from 'preact/hooks'
import type { JsonObject } from '@bulkhead/kit/json'
import type { WaitingAnswer, WaitingApproval, WaitingItem } from '../../protocol.ts'
import { decide, placeOf } from '../model/waiting.ts'
import { shown } from '../model/words.ts'
import { useArmed } from '../parts/hooks.ts'
import { Fault } from '../parts/texts.tsx'
import { LongerAnswer, type Limits } from './longer-answer.tsx'

/** Deciding one question: inert at first and while it is decided, and what went wrong. */
export function useDeciding(item: WaitingItem): {
  readonly isInert: boolean
  readonly fault: string | undefined
  readonly take: (work: () => Promise<void>) => void
} {
  const isArmed = useArmed(placeOf(item))
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
    take(() => decide(item, { do: 'allow', answer: answer.id, ...limits, ...(edited && { arguments: edited }) }))
  const deny = (): void => take(() => decide(item, { do: 'reject', ...(reason?.trim() && { reason: reason.trim() }) }))
  const once = item.answers.find(({ lasts }) => lasts === 'call')
  const longer = item.answers.filter((answer) => answer !== once)
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
            {item.passkey && ' with passkey…'}
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
      {item.passkey && <p class="small person">A rule demands your passkey, for each call: this browser asks for it.</p>}
      {edited === undefined ? (
        longer.map((answer) => (
          <LongerAnswer key={answer.id} answer={answer} onAllow={(limits) => allow(answer, limits)} />
        ))
      ) : (
        <p class="small quiet">Edited arguments can be allowed for this call only.</p>
      )}
      <Fault>{fault}</Fault>
    </fieldset>
  )
}
