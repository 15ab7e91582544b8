import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { DescribedBody, DescribedField } from '../reading/api-description.ts'
import { escaped, hasParts, type Pair, pairText, styledPairs, Unwritable } from './styles.ts'

export interface OutgoingBody {
  readonly mediaType: string
  readonly content: string | Uint8Array
}

/** The body of a request. Throws Unwritable. */
export function bodyOf({ form, mediaType, fields }: DescribedBody, value: Json): OutgoingBody {
  switch (form) {
    case 'json':
      return { mediaType, content: JSON.stringify(value) }
    case 'urlencoded':
      return { mediaType, content: pairText(fieldsOf(value, fields).flatMap(urlencodedPairs)) }
    case 'multipart':
      return multipart(fieldsOf(value, fields).flatMap(partsOf))
    case 'text':
      if (typeof value !== 'string') throw new Unwritable('must be a string')
      return { mediaType, content: value }
    case 'binary': {
      const { content, mediaType: own } = fileOf(value)
      return { mediaType: mediaType.includes('*') ? own ?? 'application/octet-stream' : mediaType, content }
    }
  }
}

interface FormField {
  readonly name: string
  readonly value: Json
  readonly field: DescribedField | undefined
}

function fieldsOf(form: Json, fields: DescribedBody['fields']): readonly FormField[] {
  if (!isJsonObject(form)) throw new Unwritable('must be an object')
  return Object.entries(form).filter(([, value]) => value !== null)
    .map(([name, value]) => ({ name, value, field: Object.hasOwn(fields, name) ? fields[name] : undefined }))
}

/** By default a list repeats its name, and an object is JSON. */
function urlencodedPairs({ name, value, field }: FormField): readonly Pair[] {
  if (field === undefined) {
    return styledPairs(
      name, isJsonObject(value) ? JSON.stringify(value) : value, { style: 'form', explode: true, reserved: false },
    )
  }
  switch (field.style) {
    case 'json':
      return [[name, escaped(JSON.stringify(value))]]
    case 'text':
      return [[name, escaped(plainValue(name, value))]]
    case 'file':
      throw new Unwritable(`has a field "${name}" that is a file, which this form cannot carry`)
    default:
      return styledField(name, value, field)
  }
}

type StyledField = Extract<DescribedField, { readonly explode: boolean }>

function styledField(name: string, value: Json, field: StyledField, plain = false): readonly Pair[] {
  if (field.style !== 'deepObject' && hasParts(value)) {
    throw new Unwritable(`has a field "${name}" that is nested too deeply for the style "${field.style}"`)
  }
  return styledPairs(name, value, field, plain)
}

function plainValue(name: string, value: Json): string {
  if (typeof value === 'object') {
    throw new Unwritable(`has a field "${name}" that is a list or an object, but is sent as text`)
  }
  return String(value)
}

interface Part {
  readonly name: string
  readonly content: string | Uint8Array
  readonly mediaType?: string | undefined
  readonly filename?: string | undefined
}

/** By default each item of a list is a part of its own, and an object is JSON. */
function partsOf({ name, value, field }: FormField): readonly Part[] {
  const values = Array.isArray(value) ? value as readonly Json[] : [value]
  if (field === undefined) {
    return values.map((one) => typeof one === 'object' && one !== null
      ? { name, content: JSON.stringify(one), mediaType: 'application/json' }
      : { name, content: String(one) })
  }
  switch (field.style) {
    case 'json':
      return [{ name, content: JSON.stringify(value), mediaType: field.mediaType ?? 'application/json' }]
    case 'text':
      return [{ name, content: plainValue(name, value), mediaType: field.mediaType }]
    case 'file':
      return values.map((one) => {
        const { content, mediaType, filename } = fileOf(one)
        // Servers read a part without a file name as a value.
        return {
          name, content, filename: filename ?? 'file',
          mediaType: mediaType ?? field.mediaType ?? 'application/octet-stream',
        }
      })
    default:
      return styledField(name, value, field, true).map(([key, content]) => ({ name: key, content }))
  }
}

const LINE = '\r\n'

/** RFC 7578. The boundary is random, so that no value can contain it. */
function multipart(parts: readonly Part[]): OutgoingBody {
  const boundary = `bulkhead-${crypto.randomUUID()}`
  const pieces = parts.flatMap(({ name, filename, mediaType, content }) => [
    `--${boundary}${LINE}content-disposition: form-data; name="${quoted(name)}"`,
    filename === undefined ? '' : `; filename="${quoted(filename)}"`,
    mediaType === undefined ? '' : `${LINE}content-type: ${mediaType}`,
    `${LINE}${LINE}`, content, LINE,
  ])
  return {
    mediaType: `multipart/form-data; boundary=${boundary}`,
    content: Buffer.concat([...pieces, `--${boundary}--${LINE}`].map((piece) => Buffer.from(piece as Uint8Array))),
  }
}

/** As browsers write names. */
const quoted = (text: string): string =>
  text.toWellFormed().replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22')

interface OutgoingFile extends Pick<Part, 'mediaType' | 'filename'> {
  readonly content: Uint8Array
}

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(?:; ?charset=[\w-]+)?$/

/** A file as in `FILE_SCHEMA`. */
function fileOf(value: Json): OutgoingFile {
  const { text, base64, filename, content_type: mediaType }: JsonObject = isJsonObject(value) ? value : {}
  if ((typeof text === 'string') === (typeof base64 === 'string')) {
    throw new Unwritable('has a file that needs either "text" or "base64"')
  }
  if (mediaType !== undefined && !(typeof mediaType === 'string' && MEDIA_TYPE.test(mediaType))) {
    throw new Unwritable('has a file with an invalid "content_type"')
  }
  return {
    content: typeof text === 'string' ? Buffer.from(text) : decoded(String(base64)), mediaType,
    filename: typeof filename === 'string' && filename !== '' ? filename : undefined,
  }
}

function decoded(base64: string): Buffer {
  const plain = base64.replaceAll(/\s/g, '')
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(plain)) throw new Unwritable('has a file whose "base64" is invalid')
  return Buffer.from(plain, 'base64')
}
