import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { ArgumentSchemas } from './argument-schemas.ts'
import { Unusable, type DescribedBody } from './described.ts'
import { readFields } from './form-fields.ts'
import { withDescription, type Argument } from './parameters.ts'
import { followed } from './references.ts'

const FORMS: readonly (readonly [RegExp, DescribedBody['form'], sentAs?: string])[] = [
  [/^application\/json$/, 'json'], [/^[\w.-]+\/[\w.-]+\+json$/, 'json'], [/^(?:\*|application)\/\*$/, 'json', 'application/json'],
  [/^application\/x-www-form-urlencoded$/, 'urlencoded'], [/^text\/[\w.+-]+$/, 'text'],
]

/** The body of a request in the best of the forms it may have. Throws Unusable where none of them is offered here. */
export function readBody(
  root: JsonObject, written: Json | undefined, schemas: ArgumentSchemas, taken: ReadonlySet<string>,
): Argument<DescribedBody> | undefined {
  if (written === undefined) return undefined
  const { content, required, description } = followed(root, written)
  const offered = isJsonObject(content) ? Object.entries(content) : []
  const [best] = FORMS.flatMap(([pattern, form, sentAs]) => offered.flatMap(([mediaType, media]) => {
    const bare = mediaType.replace(/;.*$/s, '').trim().toLowerCase()
    return pattern.test(bare) && isJsonObject(media) ? [{ form, mediaType: sentAs ?? bare, media }] : []
  }))
  if (best === undefined) {
    if (required !== true && offered.length === 0) return undefined
    throw new Unusable('has a body in a form that is not offered: JSON, form fields or text')
  }
  const { form, mediaType, media } = best
  const told = schemas.of(media['schema'])
  const fields = form === 'urlencoded' ? readFields(media['encoding'], told, schemas) : {}
  return {
    sent: { argument: taken.has('body') ? '_request_body' : 'body', form, mediaType, fields },
    schema: withDescription(form === 'text' ? { type: 'string' } : told, description),
    required: required === true,
  }
}
