import {
  defineTool, type FileReader, type FromJsonSchema, ToolError,
} from '@bulkhead/contract'
import { ALL_FILES } from '../model/bundled-extension.ts'
import { pathKey, pathReader, refuseHome, stringOr } from '../model/paths.ts'
import {
  collectLines, decodeUtf16, fileKind, leadingContinuationBytes, type LineRange, type Lines, linesOfText, SNIFF_BYTES,
  type Utf16, utf16Of, utf16Part, withoutIncompleteEnd,
} from './text.ts'

const MAX_BYTES = 200 * 1024

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    path: {
      type: 'string', minLength: 1,
      description: 'Path of the file, relative to the workspace or absolute inside it.',
    },
    offset: { type: 'integer', minimum: 1, description: 'First line, starting at 1.' },
    limit: { type: 'integer', minimum: 1, description: 'Maximum number of lines.' },
    byte_start: { type: 'integer', minimum: 0, description: 'First byte, starting at 0.' },
    byte_end: { type: 'integer', minimum: 0, description: 'End of the byte range (exclusive).' },
  },
  required: ['path'],
  additionalProperties: false,
} as const

const MAX_IMAGE_BYTES = 5 * 1024 * 1024
const MAX_UTF16_BYTES = 8 * 1024 * 1024
const CHUNK_BYTES = 1024 * 1024
/** Lines are not counted beyond this, because counting takes longer than reading. */
const COUNT_BYTES = 32 * 1024 * 1024
/** Lines are not searched beyond this, because the call would time out. */
const SCAN_BYTES = 256 * 1024 * 1024
/** Base64 encodes three bytes as four characters. */
const MAX_BASE64_BYTES = MAX_BYTES / 4 * 3

type ReadArgs = FromJsonSchema<typeof INPUT_SCHEMA>

export const tool = defineTool({
  label: 'Read',
  description: 'Reads a file of the workspace. Text is read by lines: `offset` is the first line, starting at 1, and '
    + '`limit` the number of lines. `byte_start` and `byte_end` read a range of bytes instead. Returns at most 200 '
    + 'KB, with the range and, unless the file is very long, the number of lines (`total`). If `cut` is true, the '
    + 'last line continues at `bytes.to`. Images are returned as images. `path` can also be the `output_path` of a '
    + 'long result.',
  input: INPUT_SCHEMA,
  requires: { fs: { read: [...ALL_FILES] } },
  gated: false,
  mode: 'read',
  kind: 'read',
  idempotent: true,
  maxOutput: '256KB',
  execute: (args, runtime) => readFile(args, runtime),
  deriveApprovalKey: ({ path }) => pathKey(path),
})

async function readFile(args: ReadArgs, runtime: { readonly fs: FileReader; readonly signal: AbortSignal }) {
  const { path } = args
  const { fs } = runtime
  refuseHome(path)
  const byBytes = args.byte_start !== undefined || args.byte_end !== undefined
  if (byBytes && (args.offset !== undefined || args.limit !== undefined)) {
    throw new ToolError(
      'InputInvalid', 'Lines and bytes cannot be read at once. Use offset and limit, or byte_start and byte_end.',
    )
  }
  if (byBytes) return readBytes(args, fs, await sizeOf(path, fs))

  const range: LineRange = {
    from: args.offset ?? 1, limit: args.limit ?? Number.MAX_SAFE_INTEGER, maxBytes: MAX_BYTES, countBytes: COUNT_BYTES,
  }
  // Most files are short text. Read them with a single request.
  const head = await fs.readText(path, { start: 0, end: CHUNK_BYTES }).catch(() => undefined)
  const isText = head !== undefined && head.length < CHUNK_BYTES / 3 && !head.includes('\0') && !head.includes('\ufffd')
  if (isText) return answer(path, linesOfText(head, range), Buffer.byteLength(head))

  const size = await sizeOf(path, fs)
  const found = fileKind(await fs.read(path, { start: 0, end: SNIFF_BYTES }))
  if (found.kind === 'image') return readImage(path, found.mimeType, fs, size)
  if (found.kind === 'binary') {
    throw new ToolError(
      'InputInvalid', `"${path}" is a binary file (${size} bytes). Read a part of it with byte_start and byte_end.`,
    )
  }
  if (found.kind === 'utf16') return readUtf16(path, found.encoding, range, fs, size)
  const lines = await collectLines(chunks(path, fs, Math.min(size, SCAN_BYTES), runtime.signal), range)
  // The scan ended before the file did.
  if (size > SCAN_BYTES && lines.total !== undefined && lines.cut === undefined) {
    throw tooFar(path, range.from, lines.total)
  }
  return answer(path, lines, size)
}

const tooFar = (path: string, line: number, known: number): ToolError => new ToolError(
  'InputInvalid',
  `Line ${line} of "${path}" is too far from the start. Only the first ${SCAN_BYTES / 1024 ** 2} MB (${known} lines) `
    + 'can be read by lines. Read a part of it with byte_start and byte_end.',
)

function answer(path: string, { from, to, total, text, cut }: Lines, size: number) {
  if (total !== undefined && from > Math.max(total, 1)) {
    throw new ToolError('InputInvalid', `"${path}" has ${total} lines. Line ${from} is past its end.`)
  }
  const lines = { from, to, ...(total !== undefined && { total }) }
  if (cut === undefined) return { path, content: text, lines }
  return { path, content: text, lines: { ...lines, cut: true }, bytes: { ...cut, total: size } }
}

async function sizeOf(path: string, fs: FileReader): Promise<number> {
  const { kind, size } = await fs.stat(path)
  if (kind === 'file') return size
  throw new ToolError('InputInvalid', `"${path}" is a folder. List it with glob instead.`)
}

async function readBytes(args: ReadArgs, fs: FileReader, size: number) {
  const start = args.byte_start ?? 0
  const end = Math.min(args.byte_end ?? size, size, start + MAX_BYTES)
  if (start > size || end < start) {
    throw new ToolError(
      'InputInvalid',
      `"${args.path}" has ${size} bytes. The range from ${start} to ${args.byte_end ?? size} is invalid.`,
    )
  }
  const [head, found] = await Promise.all([
    fs.read(args.path, { start: 0, end: 4 }), fs.read(args.path, { start, end }),
  ])
  const encoding = utf16Of(head)
  const part = encoding && utf16Part(found, start, encoding)
  if (part !== undefined && part.text !== '') {
    return { path: args.path, content: part.text, encoding, bytes: { from: part.from, to: part.to, total: size } }
  }
  const text = textOf(found)
  if (text !== undefined) {
    const from = start + leadingContinuationBytes(found)
    return { path: args.path, content: text, bytes: { from, to: from + Buffer.byteLength(text), total: size } }
  }
  const content = found.subarray(0, MAX_BASE64_BYTES)
  return {
    path: args.path, content: content.toBase64(), encoding: 'base64',
    bytes: { from: start, to: start + content.length, total: size },
  }
}

/** Decodes UTF-8 without incomplete characters at either end. Undefined if the bytes are not UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  const whole = withoutIncompleteEnd(bytes.subarray(leadingContinuationBytes(bytes)))
  if (whole.length === 0 && bytes.length > 0) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(whole)
  } catch {
    return undefined
  }
}

async function readUtf16(path: string, encoding: Utf16, range: LineRange, fs: FileReader, size: number) {
  if (size > MAX_UTF16_BYTES) {
    throw new ToolError(
      'InputInvalid',
      `"${path}" is ${encoding} and has ${size} bytes; at most ${MAX_UTF16_BYTES} can be read by lines. `
        + 'Read a part of it with byte_start and byte_end.',
    )
  }
  const text = decodeUtf16(await fs.read(path), encoding)
  return { ...answer(path, linesOfText(text, range, ({ length }) => 2 * length), size), encoding }
}

async function readImage(path: string, mimeType: string, fs: FileReader, size: number) {
  if (size > MAX_IMAGE_BYTES) {
    throw new ToolError(
      'InputInvalid', `"${path}" is an image of ${size} bytes. The limit is ${MAX_IMAGE_BYTES} bytes.`,
    )
  }
  const data = (await fs.read(path)).toBase64()
  return {
    content: [{ type: 'image', data, mimeType }],
    structuredContent: { path, content: `an image (${mimeType})`, bytes: { from: 0, to: size, total: size } },
  }
}

async function* chunks(path: string, fs: FileReader, size: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < size; start += CHUNK_BYTES) {
    signal.throwIfAborted()
    yield await fs.read(path, { start, end: Math.min(start + CHUNK_BYTES, size) })
  }
}

export const readArguments = pathReader(({ path }) => ({
  path: stringOr(path), verb: 'read', isFolder: false, reads: true, needs: ['fs.read'],
}))
