/** In all folders together. Links and special files count too, and folders apart. */
export const MOST_FILES = 20_000
/** What is copied. A file that the file system can clone does not count. */
export const MOST_BYTES = 256 * 1024 ** 2

/** The message says why the changes of a command are not recorded, as part of a sentence. */
export class NotRecorded extends Error {
  override readonly name = 'NotRecorded'
}

export const tooMany = (what: 'files' | 'folders'): NotRecorded =>
  new NotRecorded(`the folders have more than ${MOST_FILES.toLocaleString('en')} ${what}`)

export const tooLarge = (): NotRecorded =>
  new NotRecorded(`the files have more than ${MOST_BYTES / 1024 ** 2} MiB`)
