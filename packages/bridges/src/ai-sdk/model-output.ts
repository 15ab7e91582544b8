import type { Outcome } from '@bulkhead/contract'
import type { JSONValue, ToolResultPart } from 'ai'
import { carriesCommon, isData, resultParts, resultText, type ResultPart } from '../models/result-parts.ts'

type ToolResultOutput = ToolResultPart['output']
type Part = Extract<ToolResultOutput, { readonly type: 'content' }>['value'][number]

/**
 * What the model gets of the result of a tool: an error as `error-text`, data as `json` or `text`, images and PDF files
 * as `content`. A result that is no outcome, such as one that a client made, is passed on as JSON.
 */
export function toModelOutput(result: unknown): ToolResultOutput {
  if (!isOutcome(result)) return { type: 'json', value: (result ?? null) as JSONValue }
  if (isData(result)) return { type: 'json', value: result.data as JSONValue }
  if (result.type === 'error') return { type: 'error-text', value: resultText(result) }
  // Most providers of the SDK drop other files with a warning.
  const parts = resultParts(result, carriesCommon)
  return parts.some(({ type }) => type === 'media')
    ? { type: 'content', value: parts.map(contentPart) } : { type: 'text', value: resultText(result) }
}

function isOutcome(result: unknown): result is Outcome {
  const { type, metadata } = (result ?? {}) as Partial<Outcome>
  return (type === 'output' || type === 'error') && typeof metadata === 'object' && metadata !== null
}

const contentPart = (part: ResultPart): Part => part.type === 'text'
  ? { type: 'text', text: part.text }
  : { type: 'file', mediaType: part.mimeType, filename: part.name, data: { type: 'data', data: part.data } }
