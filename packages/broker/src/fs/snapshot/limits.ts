import { RECORD_LIMITS } from '@bulkhead/contract'

/** The message says why the changes of a command are not recorded, as part of a sentence. */
export class NotRecorded extends Error {
  override readonly name = 'NotRecorded'
}

export const tooMany = (what: 'files' | 'folders'): NotRecorded =>
  new NotRecorded(`the folders have more than ${RECORD_LIMITS.files.toLocaleString('en')} ${what}`)

export const tooLarge = (): NotRecorded =>
  new NotRecorded(`the files have more than ${RECORD_LIMITS.bytes / 1024 ** 2} MiB`)
