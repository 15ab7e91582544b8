import {
  defineTool, type FileReader, type FromJsonSchema, ToolError,
} from '@bulkhead/contract'
import { ALL_FILES } from '../model/bundled-extension.ts'
import { pathKey, pathReader, refuseHome, stringOr } from '../model/paths.ts'
import { pdfText, type PageRange } from '../model/pdf/pdf-text.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    path: {
      type: 'string', minLength: 1,
      description: 'Path of the PDF, relative to the workspace or absolute inside it.',
    },
    pages: {
      type: 'string', minLength: 1, maxLength: 200,
      description: 'Pages to read, from 1, such as 3, 2-5, 1,4-6 or 10-. Default: all.',
    },
  },
  required: ['path'],
  additionalProperties: false,
} as const

const MB = 1024 * 1024
const MAX_BYTES = 64 * MB
const CHUNK_BYTES = 4 * MB

export const tool = defineTool({
  label: 'Read a PDF',
  description: 'Reads the text of a PDF of the workspace, page by page, with the title and the number of pages '
    + '(`total`). Read long files in parts with `pages`. Pictures are not read: a page without text may be a scan. '
    + 'The text comes from the author of the file, not from the user.',
  input: INPUT_SCHEMA,
  requires: { fs: { read: [...ALL_FILES] } },
  gated: false,
  mode: 'read',
  kind: 'read',
  idempotent: true,
  maxOutput: '256KB',
  execute: (args, { fs, signal }) => readPdf(args, fs, signal),
  deriveApprovalKey: ({ path }) => pathKey(path),
})

export const readArguments = pathReader(({ path }) => ({
  path: stringOr(path), verb: 'read', isFolder: false, reads: true, needs: ['fs.read'],
}))

async function readPdf(args: FromJsonSchema<typeof INPUT_SCHEMA>, fs: FileReader, signal: AbortSignal) {
  const { path } = args
  refuseHome(path)
  const ranges = args.pages === undefined ? undefined : readRanges(args.pages)
  const bytes = await readWhole(path, fs, signal)
  const { pages, total, title } = await pdfText(bytes, signal, { ranges })
  if (ranges !== undefined && pages.length === 0) {
    throw new ToolError('InputInvalid', `"${path}" has ${count(total)}, and none of them is in "${args.pages}".`)
  }
  const isScan = pages.every(({ text }) => text.trim() === '')
  return {
    path,
    ...(title !== undefined && { title }),
    total,
    ...(isScan && { note: 'These pages have no text. They may be scans.' }),
    // The content comes last, because the host truncates at the end.
    pages: pages.map(({ page, text }) => ({ page, text: text.trim() })),
  }
}

const count = (pages: number): string => pages === 1 ? '1 page' : `${pages} pages`

/** Reads "1,4-6,10-". Throws InputInvalid. */
export function readRanges(written: string): readonly PageRange[] {
  return written.split(',').map((part): PageRange => {
    const [, first, dash, last] = /^(\d{1,7})(?:(-)(\d{1,7})?)?$/.exec(part.replaceAll(' ', '')) ?? []
    const range = [Number(first), dash === undefined ? Number(first) : Number(last ?? Infinity)] as const
    if (first !== undefined && range[0] >= 1 && range[0] <= range[1]) return range
    const message = `"${part.trim()}" is not a page or a range of pages. Use pages from 1, such as 3, 2-5 or 10-.`
    throw new ToolError('InputInvalid', message)
  })
}

async function readWhole(path: string, fs: FileReader, signal: AbortSignal): Promise<Uint8Array> {
  const { kind, size } = await fs.stat(path)
  if (kind === 'directory') throw new ToolError('InputInvalid', `"${path}" is a folder. Give the path of a PDF.`)
  if (size > MAX_BYTES) {
    const message = `"${path}" has ${Math.ceil(size / MB)} MB, which is more than the limit of ${MAX_BYTES / MB} MB. `
      + 'Split it into smaller files.'
    throw new ToolError('InputInvalid', message)
  }
  const whole = new Uint8Array(size)
  for (let start = 0; start < size; start += CHUNK_BYTES) {
    signal.throwIfAborted()
    whole.set((await fs.read(path, { start, end: Math.min(start + CHUNK_BYTES, size) })).subarray(0, size - start), start)
  }
  return whole
}
