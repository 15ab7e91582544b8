import { WorkPool } from '@bulkhead/kit/pool'
import { notRead } from '../not-read.ts'

const DEADLINE_MS = 15_000

/** A thread reads one PDF: the library interprets programs that a file contains. */
export const pdfPool = new WorkPool<PdfRequest, PdfText>(
  new URL('./read-pdf.ts', import.meta.url), { heapMb: 256, threads: 2, waiting: 64, tasksPerThread: 1 },
)

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

export interface PdfRequest {
  readonly bytes: Uint8Array
  /** Default: all pages. */
  readonly ranges: readonly PageRange[] | undefined
}

export interface PdfOptions {
  readonly ranges?: readonly PageRange[] | undefined
  readonly deadlineMs?: number
}

/** Extracts the text of a PDF. Rejects with a ToolError, or with the reason of the signal. */
export async function pdfText(
  bytes: Uint8Array, signal: AbortSignal, { ranges, deadlineMs = DEADLINE_MS }: PdfOptions = {},
): Promise<PdfText> {
  return pdfPool.run({ bytes, ranges }, { signal, deadlineMs }).catch((error: unknown) => {
    throw notRead('PDF', error, (why) => CURES.find(([pattern]) => pattern.test(why))![1])
  })
}

/** What to do, by the words of the reason. */
const CURES: readonly (readonly [RegExp, string])[] = [
  [/password/i, 'It is encrypted. Ask the user for a copy without a password.'],
  [/took longer/, 'Read fewer pages at once with pdf_read.'],
  [/memory|exited/i, 'It needs too much memory. Read fewer pages at once with pdf_read.'],
  [/./, 'Check that the file is a complete PDF.'],
]
