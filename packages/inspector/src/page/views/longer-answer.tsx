import { useState } from 'preact/hooks'
import type { RuleDraft, WaitingAnswer } from '../../protocol.ts'
import { shown, when, zone } from '../model/words.ts'
import { RuleText } from '../parts/texts.tsx'

/** What is sent beside the answer. */
export interface Limits {
  readonly until?: number
  readonly times?: number
  readonly rule?: Omit<RuleDraft, 'file'>
}

interface Lasts {
  readonly answer: WaitingAnswer
  onAllow(limits: Limits): void
}

/**
 * An answer for more than this call: as it is, until a time of day, or at most so often; and for less than it covers. One
 * that lasts until it is revoked shows what it saves before it can be given.
 */
export function LongerAnswer({ answer, onAllow }: Lasts) {
  const { rule, narrower = [], lasts, limits } = answer
  const [isOpen, setOpen] = useState(lasts !== 'always')
  const [pattern, setPattern] = useState(rule?.pattern)
  const [until, setUntil] = useState(nextHours)
  const [times, setTimes] = useState(5)
  const at = nextTime(until)
  const words = shown(answer.words)
  const allow = (limit: Limits): void => {
    const own =
      rule !== undefined && pattern !== undefined && pattern !== rule.pattern ? { ...rule, pattern } : undefined
    onAllow({
      ...limit,
      ...(own && { rule: { permission: own.permission, pattern: own.pattern, action: own.action } }),
    })
  }
  if (!isOpen) {
    return (
      <div class="answer-row">
        <button onClick={() => setOpen(true)}>Allow {words}…</button>
      </div>
    )
  }
  return (
    <div class="stack">
      {lasts === 'always' && (
        <p>
          This is saved
          {rule?.file !== undefined && (
            <>
              {' '}
              in <code>{shown(rule.file)}</code>
            </>
          )}{' '}
          and allows such calls until it is revoked:{' '}
          {rule && <RuleText rule={{ ...rule, pattern: pattern ?? rule.pattern }} />}
        </p>
      )}
      <div class="answer-row">
        <button onClick={() => allow({})}>
          {lasts === 'always' ? 'Save it and allow' : `Allow ${pattern === rule?.pattern ? words : 'only that'}`}
        </button>
        {narrower.length > 0 && rule !== undefined && (
          <select class="mono" aria-label="What it covers" onChange={(event) => setPattern(event.currentTarget.value)}>
            {[...narrower, rule.pattern].map((one) => (
              <option value={one} selected={one === pattern}>
                {shown(one)}
              </option>
            ))}
          </select>
        )}
        {limits.includes('until') && (
          <form class="limit" onSubmit={submitting(() => allow({ until: at }))}>
            until
            <input
              type="time"
              required
              value={until}
              aria-label={`Until, ${zone(at)}`}
              title={when(at)}
              onInput={(event) => setUntil(event.currentTarget.value)}
            />
            {zone(at)}
            <button aria-label={`Allow ${words} until ${until} ${zone(at)}`}>Allow</button>
          </form>
        )}
        {limits.includes('times') && (
          <form class="limit" onSubmit={submitting(() => allow({ times }))}>
            at most
            <input
              type="number"
              required
              min={1}
              max={1_000}
              value={times}
              aria-label="At most this many times"
              onInput={(event) => setTimes(event.currentTarget.valueAsNumber)}
            />
            times
            <button aria-label={`Allow ${words} at most ${times} times`}>Allow</button>
          </form>
        )}
        {lasts === 'always' && (
          <button class="plain" onClick={() => setOpen(false)}>
            Back
          </button>
        )}
      </div>
    </div>
  )
}

const submitting =
  (work: () => void) =>
  (event: Event): void => {
    event.preventDefault()
    work()
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
