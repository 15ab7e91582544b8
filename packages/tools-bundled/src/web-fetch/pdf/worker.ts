import { parentPort } from 'node:worker_threads'
import { messageOf } from '@bulkhead/kit/error-message'
import { definePDFJSModule, extractText, getDocumentProxy, getMeta } from 'unpdf'
import * as pdfjs from 'unpdf/pdfjs'
import type { PdfAnswer, PdfText } from './pdf-text.ts'

/** Reads a PDF in a worker, which can be terminated if the PDF is hostile. */
async function read(bytes: Uint8Array): Promise<PdfText> {
  // Otherwise the library would load it on first use.
  await definePDFJSModule(() => Promise.resolve(pdfjs))
  const pdf = await getDocumentProxy(bytes, { useSystemFonts: false, disableFontFace: true, stopAtErrors: false })
  const { text } = await extractText(pdf, { mergePages: false })
  const { info } = await getMeta(pdf).catch(() => ({ info: {} }))
  const title: unknown = (info as { readonly Title?: unknown }).Title
  return { pages: text, ...(typeof title === 'string' && title !== '' ? { title } : {}) }
}

export async function run(bytes: Uint8Array): Promise<void> {
  // Errors of the library lose their message when they are sent to another thread.
  const answer: PdfAnswer = await read(bytes).catch((error: unknown) => ({ fault: messageOf(error) }))
  parentPort?.postMessage(answer)
}
