import { expect, it } from 'vitest'
import { writtenForms } from '@bulkhead/kit/text'

it('gives a secret as it is, in JSON, in a URL and in base64', () => {
  expect(writtenForms('a"b c?')).toEqual(['a"b c?', String.raw`a\"b c?`, 'a%22b%20c%3F', 'YSJiIGM/', 'YSJiIGM_'])
})
