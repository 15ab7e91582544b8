import { definePDFJSModule, getDocumentProxy, getMeta } from 'unpdf'
import * as pdfjs from 'unpdf/pdfjs'
import type { PdfPage, PdfRequest, PdfText } from './pdf-text.ts'

type PdfDocument = Awaited<ReturnType<typeof getDocumentProxy>>

/** Reads a PDF in a thread of the pool. */
export async function run({ bytes, ranges }: PdfRequest): Promise<PdfText> {
  // Otherwise the library would load it on first use.
  await definePDFJSModule(() => Promise.resolve(pdfjs))
  const pdf = await getDocumentProxy(bytes, { useSystemFonts: false, disableFontFace: true, stopAtErrors: false })
  const isWanted = (page: number): boolean => ranges?.some(([first, last]) => first <= page && page <= last) ?? true
  const pages: PdfPage[] = []
  for (let page = 1; page <= pdf.numPages; page++) {
    if (isWanted(page)) pages.push({ page, text: await pageText(pdf, page) })
  }
  const { info } = await getMeta(pdf).catch(() => ({ info: {} }))
  const title: unknown = (info as { readonly Title?: unknown }).Title
  return { pages, total: pdf.numPages, ...(typeof title === 'string' && title !== '' ? { title } : {}) }
}

async function pageText(pdf: PdfDocument, number: number): Promise<string> {
  const page = await pdf.getPage(number)
  const { items } = await page.getTextContent()
  return items.map((item) => 'str' in item ? item.str + (item.hasEOL ? '\n' : '') : '').join('')
}
