import { ToolError } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { ThreadImage } from '@bulkhead/kit/thread-image'

const DEADLINE_MS = 15_000
const HEAP_MB = 256

/** The code of the worker thread. */
export const pdfThread = new ThreadImage(new URL('./worker.ts', import.meta.url))

export interface PdfText {
  readonly pages: readonly string[]
  readonly title?: string
}

/** The message from the worker. `fault`: why the PDF could not be read. */
export type PdfAnswer = PdfText | { readonly fault: string }

/** Extracts the text of a PDF in a worker. Rejects with ToolExecutionFailed, or with the reason of the signal. */
export async function pdfText(bytes: Uint8Array, signal: AbortSignal, deadlineMs = DEADLINE_MS): Promise<PdfText> {
  signal.throwIfAborted()
  const worker = pdfThread.start(bytes, {
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

const unreadable = (why: string): ToolError =>
  new ToolError('ToolExecutionFailed', `The PDF could not be read: ${why.replace(/\.$/, '')}.`)
