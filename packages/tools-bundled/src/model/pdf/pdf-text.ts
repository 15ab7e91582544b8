import { ToolError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { ThreadImage } from '@bulkhead/kit/thread-image'

const DEADLINE_MS = 15_000
const HEAP_MB = 256

/** The code of the worker thread. */
export const pdfThread = new ThreadImage(new URL('./worker.ts', import.meta.url))

/** From the first to the last page, both from 1. The last is Infinity for the rest of the file. */
export type PageRange = readonly [first: number, last: number]

export interface PdfPage {
  /** From 1. */
  readonly page: number
  readonly text: string
}

export interface PdfText {
  /** Those that were asked for, in the order of the file. */
  readonly pages: readonly PdfPage[]
  /** How many pages the file has. */
  readonly total: number
  readonly title?: string
}

/** What the worker gets. */
export interface PdfRequest {
  readonly bytes: Uint8Array
  /** Default: all pages. */
  readonly ranges: readonly PageRange[] | undefined
}

/** The message from the worker. `fault`: why the PDF could not be read. */
export type PdfAnswer = PdfText | { readonly fault: string }

export interface PdfOptions {
  readonly ranges?: readonly PageRange[] | undefined
  readonly deadlineMs?: number
}

/** Extracts the text of a PDF in a worker. Rejects with ToolExecutionFailed, or with the reason of the signal. */
export async function pdfText(
  bytes: Uint8Array, signal: AbortSignal, { ranges, deadlineMs = DEADLINE_MS }: PdfOptions = {},
): Promise<PdfText> {
  signal.throwIfAborted()
  const worker = pdfThread.start({ bytes, ranges } satisfies PdfRequest, {
    env: {}, stdout: true, stderr: true, resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  })
  const { promise, resolve, reject } = Promise.withResolvers<PdfText>()
  const cancel = (): void => reject(signal.reason as Error)
  const late = setTimeout(() => reject(unreadable(`it took longer than ${deadlineMs / 1000} seconds`)), deadlineMs)
  signal.addEventListener('abort', cancel, { once: true })
  worker.once('message', (answer: PdfAnswer) => 'fault' in answer ? reject(unreadable(answer.fault)) : resolve(answer))
  worker.once('error', (error) => reject(unreadable(messageOf(error))))
  worker.once('exit', () => reject(unreadable('it ended early')))
  try {
    return await promise
  } finally {
    clearTimeout(late)
    signal.removeEventListener('abort', cancel)
    await worker.terminate()
  }
}

/** What to do, by the words of the reason. */
const CURES: readonly (readonly [RegExp, string])[] = [
  [/password/i, 'It is encrypted. Ask the user for a copy without a password.'],
  [/took longer/, 'Read fewer pages at once with pdf_read.'],
  [/memory|ended early/i, 'It needs too much memory. Read fewer pages at once with pdf_read.'],
  [/./, 'Check that the file is a complete PDF.'],
]

function unreadable(why: string): ToolError {
  const [, cure] = CURES.find(([pattern]) => pattern.test(why))!
  return new ToolError('ToolExecutionFailed', `The PDF could not be read: ${why.replace(/\.$/, '')}. ${cure}`)
}
