import type { JsonObject } from '@bulkhead/kit/json'
import type { Example } from './package-of.ts'
import { extension, input, SHOUT, SHOUT_CODE, WORD } from './parts.ts'

const COUNT: JsonObject = {
  name: 'count_words', description: 'Counts the words of a text file.', mode: 'read', approvalKey: '{path}',
  inputSchema: input({ path: { type: 'string', minLength: 1, maxLength: 200, description: 'Path in the workspace.' } }),
  outputSchema: { type: 'object', properties: { words: { type: 'integer' } }, required: ['words'] },
  requires: { fs: { read: ['{workspace}/**'] } },
}
const COUNT_CODE = `export default { tools: { count_words: { async execute({ path }, runtime) {
  const text = await runtime.fs.readText(path)
  return { words: text.split(/\\s+/).filter(Boolean).length }
} } } }
`

const FORECAST: JsonObject = {
  name: 'forecast', description: 'Fetches the weather forecast of a city.', approvalKey: '{city}',
  inputSchema: input({ city: WORD }),
  outputSchema: { type: 'object', additionalProperties: { type: 'string' } },
  requires: { net: { hosts: ['api.example.com'] } }, mode: 'external',
}
const FORECAST_CODE = `export default { tools: { forecast: { async execute({ city }, runtime) {
  const key = await runtime.secrets.handle('WEATHER_KEY')
  const url = 'https://api.example.com/v1/forecast?city=' + encodeURIComponent(city)
  const response = await runtime.net.fetch(url, { headers: { authorization: 'Bearer ' + key } })
  return await response.json()
} } } }
`

/** Extensions that pass every check but the signature. */
export const GOOD: Readonly<Record<string, Example>> = {
  'a pure function': { manifest: extension('shout', [SHOUT]), code: SHOUT_CODE },
  'a reader of files': { manifest: extension('count-words', [COUNT]), code: COUNT_CODE },
  'a client of an API with a secret': {
    manifest: extension('forecast', [FORECAST], { secrets: [{ name: 'WEATHER_KEY', hosts: ['api.example.com'] }] }),
    code: FORECAST_CODE,
  },
}
