import { isJsonObject, pointerStep, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import {
  BUNDLE_V01_MEDIA_TYPE, BUNDLE_V02_MEDIA_TYPE, BUNDLE_V03_LEGACY_MEDIA_TYPE, BUNDLE_V03_MEDIA_TYPE, bundleFromJSON, bundleToJSON,
  type Bundle, type TransparencyLogEntry,
} from '@sigstore/bundle'
import { unverified, verified, type Verification } from './verification.ts'

/** Log entries, and timestamps, of one bundle. Honest ones have one or two; comparing them is quadratic. */
const MAX_WITNESSES = 8

const MEDIA_TYPES: ReadonlySet<string> = new Set([
  BUNDLE_V01_MEDIA_TYPE, BUNDLE_V02_MEDIA_TYPE, BUNDLE_V03_LEGACY_MEDIA_TYPE, BUNDLE_V03_MEDIA_TYPE,
])

/**
 * A bundle that says one thing only. The library skips what it does not know, decodes base64 leniently and goes by one of
 * two places where something is said twice, so that other bytes would verify too. Here each value is one that was read.
 * Throws what the library throws for something that is no bundle.
 */
export function readBundle(json: Json): Verification<Bundle> {
  const bundle = bundleFromJSON(json)
  if (!MEDIA_TYPES.has(bundle.mediaType)) return unverified('form', 'is of a media type that is not known')
  const extra = findUnread(json, bundleToJSON(bundle) as unknown as Json, '')?.slice(0, 200)
  if (extra !== undefined) return unverified('form', `has a value at ${visibleText(extra)} that is not part of a bundle`)
  const { tlogEntries, timestampVerificationData } = bundle.verificationMaterial
  if (Math.max(tlogEntries.length, timestampVerificationData?.rfc3161Timestamps.length ?? 0) > MAX_WITNESSES) {
    return unverified('form', `has more than ${MAX_WITNESSES} log entries or timestamps`)
  }
  if (!tlogEntries.every(hasPlainCheckpoint)) return unverified('log', 'has a log entry that does not fit its own checkpoint')
  return verified(bundle)
}

/** What an absent member means; it may be written out or left out. */
const DEFAULTS: ReadonlySet<Json> = new Set(['', '0', 0, false, null])

/** JSON Pointer of the first value that would not be written as it stands, or undefined. */
function findUnread(written: Json, read: Json | undefined, pointer: string): string | undefined {
  if (Array.isArray(written) || isJsonObject(written)) {
    const members = new Map(typeof read === 'object' && read !== null ? Object.entries<Json>(read) : [])
    for (const [step, child] of Object.entries<Json>(written)) {
      const found = findUnread(child, members.get(step), pointer + pointerStep(step))
      if (found !== undefined) return found
    }
    return undefined
  }
  // Large numbers may be written as such or as text.
  const same = read === undefined ? DEFAULTS.has(written) : String(written) === String(read)
  return same ? undefined : pointer
}

/** Lines of signatures after an empty line, and nothing else. */
const CHECKPOINT_SIGNATURES = /\n\n(?:\u2014 \S+ [A-Za-z0-9+/]+={0,2}\n)+$/

/** The library goes by the checkpoint, which is signed, and never looks at what the proof says of the same tree. */
function hasPlainCheckpoint({ inclusionProof }: TransparencyLogEntry): boolean {
  if (inclusionProof?.checkpoint === undefined) return true
  const { envelope } = inclusionProof.checkpoint
  const [, treeSize, rootHash] = envelope.split('\n', 3)
  return inclusionProof.treeSize === treeSize && inclusionProof.rootHash.toString('base64') === rootHash
    && CHECKPOINT_SIGNATURES.test(envelope)
}
