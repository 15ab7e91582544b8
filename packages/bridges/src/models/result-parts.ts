import type { Content, Outcome } from '@bulkhead/contract'
import { noteOfCut, textOfData } from '@bulkhead/contract/dialects'
import { visibleText } from '@bulkhead/kit/text'

/** A part of a result as a model gets it: text, or bytes that its API can carry. */
export type ResultPart =
  | { readonly type: 'text'; readonly text: string }
  | MediaPart

export interface MediaPart {
  readonly type: 'media'
  readonly kind: 'image' | 'audio' | 'file'
  readonly mimeType: string
  /** Base64. */
  readonly data: string
  /** A file name for APIs that require one. */
  readonly name: string
}

/** The media types that an API takes in the result of a tool. */
export type Carries = (mimeType: string) => boolean

const COMMON: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'application/pdf'])
/** What most APIs take: the usual images, and PDF. */
export const carriesCommon: Carries = (mimeType) => COMMON.has(mimeType)

/**
 * What a model gets of an outcome. Bytes that the API cannot carry are named in the text. Never empty, and consecutive
 * texts stay apart.
 */
export function resultParts(outcome: Outcome, carries: Carries): readonly ResultPart[] {
  const { content = [] } = outcome
  // The text of an error stands for the texts in its content.
  const own = outcome.type === 'error' ? content.filter(({ type }) => type !== 'text') : content
  const parts = own.map((part) => partOf(part, carries))
  const main = outcome.type === 'error' ? outcome.error_text : textOfData(outcome.data)
  const hasContent = outcome.type === 'output' && own.some((part, index) => isReadable(part, parts[index]!))
  const note = noteOfCut(outcome.metadata)
  return [...(hasContent ? [] : [textPart(main)]), ...parts, ...(note === undefined ? [] : [textPart(note)])]
}

/** The same as one text, for APIs whose results are text only. */
export const resultText = (outcome: Outcome): string =>
  resultParts(outcome, () => false).map((part) => part.type === 'text' ? part.text : '').join('\n')

/** Whether the data alone is the result. JSON has no place for the note below a result that was cut. */
export const isData = (outcome: Outcome): outcome is Extract<Outcome, { readonly type: 'output' }> =>
  outcome.type === 'output' && typeof outcome.data !== 'string' && (outcome.content ?? []).length === 0
  && !outcome.metadata.truncated

const textPart = (text: string): ResultPart => ({ type: 'text', text })

/** Whether a part tells a model more than that it exists. */
const isReadable = (part: Content, sent: ResultPart): boolean =>
  sent.type === 'media' || part.type === 'text' || part.type === 'resource_link' || 'text' in part

function partOf(part: Content, carries: Carries): ResultPart {
  switch (part.type) {
    case 'text':
      return textPart(part.text)
    case 'image':
    case 'audio':
      return media(part.mimeType, part.data, part.type, carries)
    case 'resource':
      if (part.text !== undefined) return textPart(`[${shown(part.uri)}]\n${part.text}`)
      return media(part.mimeType ?? 'application/octet-stream', part.blob, shown(part.uri), carries)
    case 'resource_link': {
      const { name, uri, title, description, mimeType } = part
      const more = [title, mimeType, description].filter((one) => one !== undefined).map(shown).join(', ')
      return textPart(`[link to ${shown(name)}: ${shown(uri)}${more === '' ? '' : ` (${more})`}]`)
    }
  }
}

function media(mimeType: string, data: string, label: string, carries: Carries): ResultPart {
  const isKnown = MIME_TYPE.test(mimeType) && carries(mimeType)
  if (isKnown && isBase64(data)) {
    return { type: 'media', kind: kindOf(mimeType), mimeType, data, name: fileName(mimeType) }
  }
  const why = isKnown ? 'the data is not base64' : 'the model API does not take it in a tool result'
  const named = label === 'image' || label === 'audio' ? '' : `${label}, `
  return textPart(`[${named}${shown(mimeType)}, ${sizeOf(data)}, not sent: ${why}]`)
}

const MIME_TYPE = /^[a-z]+\/[A-Za-z0-9.+-]{1,100}$/
const MAX_SHOWN_CHARS = 500

/** Names and addresses come from the server of the tool. */
const shown = (text: string): string => visibleText(text.slice(0, MAX_SHOWN_CHARS))

const isBase64 = (data: string): boolean =>
  data !== '' && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data)

function kindOf(mimeType: string): MediaPart['kind'] {
  if (mimeType.startsWith('image/')) return 'image'
  return mimeType.startsWith('audio/') ? 'audio' : 'file'
}

/** The same for every file of a type, because a name from outside could be anything. */
const fileName = (mimeType: string): string =>
  `result.${/\/(?:x-)?([A-Za-z0-9.-]+)/.exec(mimeType)?.[1] ?? 'bin'}`

function sizeOf(base64: string): string {
  const bytes = Math.floor(base64.length * 3 / 4)
  return bytes < 1000 ? `${bytes} bytes` : `${Math.round(bytes / 1000)} kB`
}
