import { BulkheadError, type ListedCall } from '@bulkhead/contract'

/** What the journal knows of a call that was open when its host ended. `kept`: steps whose result is kept. */
export interface OpenCallTerms extends Pick<ListedCall, 'tool' | 'begun' | 'effects' | 'verify'> {
  readonly kept?: ReadonlySet<string>
}

/** The most that a message lists. `data` has all. */
const SHOWN = 3

/** How a call ends whose host ended: by what it had begun. */
export function interruption({ tool, begun: all, effects, verify, kept }: OpenCallTerms): BulkheadError {
  const ended = `The call of "${tool}" was interrupted: the host ended while it was open.`
  const begun = all.filter(({ step }) => step === undefined || kept?.has(step) !== true)
  if (effects !== undefined && begun.length === 0 && all.length > 0) {
    const steps = 'The results of the steps that began something are kept. Call again with the same idempotency key to '
      + 'go on.'
    return new BulkheadError('CallInterrupted', `${ended} ${steps}`)
  }
  if (effects !== undefined && begun.length === 0) {
    const safe = 'It had begun nothing that can have an effect, apart from requests with GET and HEAD. It is safe to '
      + 'call again.'
    return new BulkheadError('CallInterrupted', `${ended} ${safe}`)
  }
  const list = begun.slice(0, SHOWN).map(({ what, at }) => `"${what}" at ${timeOf(at)}`).join(', ')
  const more = begun.length > SHOWN ? ` and ${begun.length - SHOWN} more` : ''
  const known = effects === undefined ? 'It was made by an earlier version, which did not note what a call begins'
    : `It had begun: ${list}${more}`
  const cure = verify === undefined ? 'Find out whether it happened before you call again.'
    : `Call "${verify}" to find out whether it happened, before you call again.`
  const data = {
    began: begun.map(({ what, at, attempt, step }) =>
      ({ what, at: timeOf(at), attempt, ...(step !== undefined && { step }) })),
    ...(effects !== undefined && { effects }), ...(verify !== undefined && { verify }),
  }
  return new BulkheadError('OutcomeUnknown', `${ended} ${known}. Whether it happened is unknown. ${cure}`, { data })
}

/** For its idempotency key: the call has ended, and only its outcome is lost. */
export const notRecorded = ({ tool }: Pick<OpenCallTerms, 'tool'>): BulkheadError => new BulkheadError(
  'OutcomeUnknown', `The call of "${tool}" has ended, but its outcome could not be recorded. It was not repeated.`,
)

const timeOf = (at: number): string => new Date(at).toISOString()
