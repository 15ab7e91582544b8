import { parentPort, workerData } from 'node:worker_threads'
import { extractText, getDocumentProxy, getMeta } from 'unpdf'

/** A thread that reads one PDF and ends: a hostile one can be stopped with it. */
const { bytes } = workerData as { readonly bytes: Uint8Array }
const pdf = await getDocumentProxy(bytes, { useSystemFonts: false, disableFontFace: true, stopAtErrors: false })
const { text } = await extractText(pdf, { mergePages: false })
const { info } = await getMeta(pdf).catch(() => ({ info: {} }))
const title: unknown = (info as { readonly Title?: unknown }).Title
parentPort?.postMessage({ pages: text, ...(typeof title === 'string' && title !== '' ? { title } : {}) })
