import { createRequire } from 'node:module'
import { messageOf } from '@bulkhead/kit/error-message'
import { findRipgrep } from './broker/fs/search/ripgrep.ts'
import { loadImage } from './image.ts'
import { saysNoRoom } from './os/no-room.ts'

/** Undici loads its parser itself, with the first connection: the one or the other, by what the processor can do. */
const PARSERS = ['undici/lib/llhttp/llhttp-wasm.js', 'undici/lib/llhttp/llhttp_simd-wasm.js']
const load = createRequire(import.meta.url)

let loading: Promise<unknown> | undefined

/**
 * Loads what code in a compartment can make this process load, and the code that runs in compartments, before any of it
 * runs: what is on the disk afterwards makes no difference. What cannot be loaded is reported by the code that needs it. Never rejects.
 */
export function loadLateCode(): Promise<unknown> {
  loading ??= Promise.allSettled([
    loadImage(), findRipgrep(), import('piscina'), import('undici'), ...PARSERS.map(async (parser) => { load(parser) }),
  ]).then((outcomes) => {
    // What there was no room for is loaded by the next opening.
    if (outcomes.some((outcome) => outcome.status === 'rejected' && saysNoRoom(messageOf(outcome.reason)))) loading = undefined
  })
  return loading
}
