import { parentPort } from 'node:worker_threads'
import { messageOf } from '@bulkhead/kit/error-message'
import { definePDFJSModule, extractText, getDocumentProxy, getMeta } from 'unpdf'
import * as pdfjs from 'unpdf/pdfjs'
import type { PdfAnswer, PdfText } from './pdf-text.ts'

/** A thread that reads one PDF and ends: a hostile one can be stopped with it. */
async function read(bytes: Uint8Array): Promise<PdfText> {
  // Otherwise the library would load it with the first document.
  await definePDFJSModule(() => Promise.resolve(pdfjs))
  const pdf = await getDocumentProxy(bytes, { useSystemFonts: false, disableFontFace: true, stopAtErrors: false })
  const { text } = await extractText(pdf, { mergePages: false })
  const { info } = await getMeta(pdf).catch(() => ({ info: {} }))
  const title: unknown = (info as { readonly Title?: unknown }).Title
  return { pages: text, ...(typeof title === 'string' && title !== '' ? { title } : {}) }
}

export async function run(bytes: Uint8Array): Promise<void> {
  // Errors of the library lose their message between threads.
  const answer: PdfAnswer = await read(bytes).catch((error: unknown) => ({ fault: messageOf(error) }))
  parentPort?.postMessage(answer)
}
