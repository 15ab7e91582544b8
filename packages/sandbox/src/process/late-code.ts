import { messageOf } from '@bulkhead/kit/error-message'
import { preloadCode, mentionsResourceShortage } from '@bulkhead/broker'
import { loadImage } from './image.ts'

let loading: Promise<unknown> | undefined

/**
 * Loads what code in a compartment can make this process load, and the code that runs in compartments, before any of it
 * runs: what is on the disk afterwards makes no difference. What cannot be loaded is reported by the code that needs it. Never rejects.
 */
export function loadLateCode(): Promise<unknown> {
  loading ??= Promise.allSettled([
    loadImage(), import('piscina'), ...preloadCode(),
  ]).then((outcomes) => {
    // What there was no room for is loaded by the next opening.
    if (outcomes.some((outcome) => outcome.status === 'rejected' && mentionsResourceShortage(messageOf(outcome.reason)))) loading = undefined
  })
  return loading
}
