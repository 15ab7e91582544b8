import { expect, it } from 'vitest'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { requireOptions, type BulkheadError } from '../src/model/errors.ts'

interface Options {
  readonly folder: string
  readonly times?: number
  readonly mode?: 'a' | 'b'
  readonly names?: readonly string[]
  readonly judge?: object
  readonly shape?: { readonly wide: number }
  readonly depth?: number
  readonly depths?: number
  readonly limits?: { readonly calls?: number }
  readonly flags?: Readonly<Record<string, boolean>>
  readonly stop?: AbortSignal
  readonly work?: (() => void) | boolean
}
const FORMS: OptionForms<Options> = {
  folder: forms.text, times: forms.above(0), mode: forms.oneOf('a', 'b'), names: forms.list(forms.text),
  judge: forms.having('judge'),
  shape: forms.whole({ wide: forms.number }), depth: forms.number, depths: forms.number,
  limits: forms.fields({ calls: forms.number }), flags: forms.values(forms.flag), stop: forms.signal,
  work: forms.either(forms.method, forms.flag),
}
const refusalOf = (options: unknown): BulkheadError | undefined => {
  try {
    requireOptions('openIt', options as Options, FORMS, 'folder')
    return undefined
  } catch (error) {
    return error as BulkheadError
  }
}

it('accepts valid options and ignores undefined ones', () => {
  class Judging { judge(): void {} }
  expect(refusalOf({ folder: '' })).toBeUndefined()
  expect(refusalOf({
    folder: 'x', times: 0.5, mode: 'b', names: ['a'], judge: new Judging(), shape: { wide: 1 },
    limits: { calls: undefined }, flags: { one: true },
    stop: new AbortController().signal, work: () => {},
  })).toBeUndefined()
  expect(refusalOf({ folder: 'x', times: undefined, work: true })).toBeUndefined()
  expect(refusalOf({ folder: 'x', depth: 1, modes: undefined })).toBeUndefined()
})

it.each<[unknown, string, string]>([
  [{}, '/folder', 'openIt needs the option "folder". Pass a string.'],
  [{ folder: 5 }, '/folder', 'The option "folder" of openIt cannot be the number 5. Pass a string.'],
  [{ folder: null }, '/folder', 'The option "folder" of openIt cannot be null. Pass a string.'],
  [{ folder: 'x', times: 0 }, '/times', 'The option "times" of openIt cannot be the number 0. Pass a number above 0.'],
  [
    { folder: 'x', times: Number.NaN }, '/times',
    'The option "times" of openIt cannot be the number NaN. Pass a number above 0.',
  ],
  [{ folder: 'x', mode: 'c' }, '/mode', 'The option "mode" of openIt cannot be this string. Pass "a" or "b".'],
  [
    { folder: 'x', names: ['a', 7] }, '/names/1',
    'The option "names/1" of openIt cannot be the number 7. Pass a list in which each item is a string as "names".',
  ],
  [
    { folder: 'x', names: [undefined] }, '/names/0',
    'The option "names/0" of openIt cannot be null. Pass a list in which each item is a string as "names".',
  ],
  [
    { folder: 'x', names: { 0: 'a' } }, '/names',
    'The option "names" of openIt cannot be this object. Pass a list in which each item is a string.',
  ],
  [{ folder: 'x', times: '1' }, '/times', 'The option "times" of openIt cannot be this string. Pass a number above 0.'],
  [
    { folder: 'x', depth: Number.NaN }, '/depth',
    'The option "depth" of openIt cannot be the number NaN. Pass a number.',
  ],
  [
    { folder: 'x', flags: [true] }, '/flags',
    'The option "flags" of openIt cannot be this list. Pass an object in which each value is true or false.',
  ],
  [
    { folder: 'x', judge: true }, '/judge',
    'The option "judge" of openIt cannot be true. Pass an object with the function judge.',
  ],
  [
    { folder: 'x', judge: {} }, '/judge',
    'The option "judge" of openIt cannot be this object. Pass an object with the function judge.',
  ],
  [
    { folder: 'x', shape: {} }, '/shape/wide',
    'The option "shape/wide" of openIt cannot be null. Pass an object with wide (a number) as "shape".',
  ],
  [
    { folder: 'x', limits: { calls: 'many' } }, '/limits/calls',
    'The option "limits/calls" of openIt cannot be this string. Pass an object with calls (a number) as "limits".',
  ],
  [
    { folder: 'x', flags: { 'a/b': 'no' } }, '/flags/a~1b',
    'The option "flags/a~1b" of openIt cannot be this string. '
      + 'Pass an object in which each value is true or false as "flags".',
  ],
  [{ folder: 'x', stop: {} }, '/stop', 'The option "stop" of openIt cannot be this object. Pass an AbortSignal.'],
  [
    { folder: 'x', stop: { aborted: false } }, '/stop',
    'The option "stop" of openIt cannot be this object. Pass an AbortSignal.',
  ],
  [
    { folder: 'x', stop: new EventTarget() }, '/stop',
    'The option "stop" of openIt cannot be this object. Pass an AbortSignal.',
  ],
  [{ folder: 'x', stop: null }, '/stop', 'The option "stop" of openIt cannot be null. Pass an AbortSignal.'],
  [
    { folder: 'x', work: [] }, '/work',
    'The option "work" of openIt cannot be this list. Pass a function, or true or false.',
  ],
  [{ folder: 'x', time: 5 }, '/time', 'openIt has no option "time". Did you mean "times"?'],
  [{ folder: 'x', Mode: 'a' }, '/Mode', 'openIt has no option "Mode". Did you mean "mode"?'],
  [{ folder: 'x', times: 1, time: 2 }, '/time', 'openIt has no option "time". Did you mean "times"?'],
  [{ folder: 'x', other: 5 }, '/other', 'openIt has no option "other".'],
  [undefined, '', 'The options of openIt cannot be undefined. Pass an object.'],
  [null, '', 'The options of openIt cannot be null. Pass an object.'],
  ['a secret', '', 'The options of openIt cannot be this string. Pass an object.'],
])('rejects %j', (options, path, message) => {
  expect(refusalOf(options)).toMatchObject({ code: 'ConfigInvalid', message, data: { path } })
})
