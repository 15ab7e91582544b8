export interface ThreadStart {
  readonly file: string
  /** The file does not grow beyond this. */
  readonly maxPages: number
}

/** One to each draft, in their order, after the one that says it is ready. */
export type Answer = 'ready' | { readonly position: number } | { readonly message: string; readonly errcode: number | undefined }
