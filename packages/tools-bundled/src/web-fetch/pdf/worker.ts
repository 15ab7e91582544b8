import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '@bulkhead/kit/error-message'
import { extractText, getDocumentProxy, getMeta } from 'unpdf'
import type { PdfAnswer, PdfText } from './pdf-text.ts'

/** A thread that reads one PDF and ends: a hostile one can be stopped with it. */
async function read(bytes: Uint8Array): Promise<PdfText> {
  const pdf = await getDocumentProxy(bytes, { useSystemFonts: false, disableFontFace: true, stopAtErrors: false })
  const { text } = await extractText(pdf, { mergePages: false })
  const { info } = await getMeta(pdf).catch(() => ({ info: {} }))
  const title: unknown = (info as { readonly Title?: unknown }).Title
  return { pages: text, ...(typeof title === 'string' && title !== '' ? { title } : {}) }
}

const { bytes } = workerData as { readonly bytes: Uint8Array }
// Errors of the library lose their words on the way between threads.
const answer: PdfAnswer = await read(bytes).catch((error: unknown) => ({ fault: messageOf(error) }))
parentPort?.postMessage(answer)
