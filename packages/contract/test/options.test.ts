import { expect, it } from 'vitest'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { requireOptions, type BulkheadError } from '../src/model/bulkhead-error.ts'

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
  folder: forms.text, times: forms.above(0), mode: forms.oneOf('a', 'b'), names: forms.list(forms.text), judge: forms.having('judge'),
  shape: forms.whole({ wide: forms.number }), depth: forms.number, depths: forms.number,
  limits: forms.fields({ calls: forms.number }), flags: forms.values(forms.flag), stop: forms.signal, work: forms.either(forms.method, forms.flag),
}
const refusalOf = (options: unknown): BulkheadError | undefined => {
  try {
    requireOptions('openIt', options as Options, FORMS, 'folder')
    return undefined
  } catch (error) {
    return error as BulkheadError
  }
}

it('takes what is of its form, and leaves out what is undefined', () => {
  class Judging { judge(): void {} }
  expect(refusalOf({ folder: '' })).toBeUndefined()
  expect(refusalOf({
    folder: 'x', times: 0.5, mode: 'b', names: ['a'], judge: new Judging(), shape: { wide: 1 }, limits: { calls: undefined }, flags: { one: true },
    stop: new AbortController().signal, work: () => {}, other: 5,
  })).toBeUndefined()
  expect(refusalOf({ folder: 'x', times: undefined, work: true })).toBeUndefined()
  // Close to an option, but one itself, or given beside it, or nothing that it could be.
  expect(refusalOf({ folder: 'x', depth: 1 })).toBeUndefined()
  expect(refusalOf({ folder: 'x', folders: 'y', times: 1, time: 2, model: 'm', modes: undefined })).toBeUndefined()
})

it.each<[unknown, string, string]>([
  [{}, '/folder', 'openIt needs the option "folder". Let it be a text.'],
  [{ folder: 5 }, '/folder', 'openIt cannot use the number 5 given as its option "folder". Let "folder" be a text.'],
  [{ folder: null }, '/folder', 'openIt cannot use null given as its option "folder". Let "folder" be a text.'],
  [{ folder: 'x', times: 0 }, '/times', 'openIt cannot use the number 0 given as its option "times". Let "times" be a number above 0.'],
  [{ folder: 'x', times: Number.NaN }, '/times', 'openIt cannot use the number NaN given as its option "times". Let "times" be a number above 0.'],
  [{ folder: 'x', mode: 'c' }, '/mode', 'openIt cannot use the text given as its option "mode". Let "mode" be "a" or "b".'],
  [{ folder: 'x', names: ['a', 7] }, '/names/1', 'openIt cannot use the number 7 given as its option "names/1". Let "names" be a list, each of it a text.'],
  [{ folder: 'x', names: [undefined] }, '/names/0', 'openIt cannot use null given as its option "names/0". Let "names" be a list, each of it a text.'],
  [{ folder: 'x', names: { 0: 'a' } }, '/names', 'openIt cannot use the object given as its option "names". Let "names" be a list, each of it a text.'],
  [{ folder: 'x', times: '1' }, '/times', 'openIt cannot use the text given as its option "times". Let "times" be a number above 0.'],
  [{ folder: 'x', depth: Number.NaN }, '/depth', 'openIt cannot use the number NaN given as its option "depth". Let "depth" be a number.'],
  [{ folder: 'x', flags: [true] }, '/flags', 'openIt cannot use the list given as its option "flags". Let "flags" be an object of which each value is true or false.'],
  [{ folder: 'x', judge: true }, '/judge', 'openIt cannot use true given as its option "judge". Let "judge" be an object with the function judge.'],
  [{ folder: 'x', judge: {} }, '/judge', 'openIt cannot use the object given as its option "judge". Let "judge" be an object with the function judge.'],
  [{ folder: 'x', shape: {} }, '/shape/wide', 'openIt cannot use null given as its option "shape/wide". Let "shape" be an object with wide (a number).'],
  [{ folder: 'x', limits: { calls: 'many' } }, '/limits/calls', 'openIt cannot use the text given as its option "limits/calls". Let "limits" be an object with calls (a number).'],
  [{ folder: 'x', flags: { 'a/b': 'no' } }, '/flags/a~1b', 'openIt cannot use the text given as its option "flags/a~1b". Let "flags" be an object of which each value is true or false.'],
  [{ folder: 'x', stop: {} }, '/stop', 'openIt cannot use the object given as its option "stop". Let "stop" be an AbortSignal.'],
  [{ folder: 'x', stop: { aborted: false } }, '/stop', 'openIt cannot use the object given as its option "stop". Let "stop" be an AbortSignal.'],
  [{ folder: 'x', stop: new EventTarget() }, '/stop', 'openIt cannot use the object given as its option "stop". Let "stop" be an AbortSignal.'],
  [{ folder: 'x', stop: null }, '/stop', 'openIt cannot use null given as its option "stop". Let "stop" be an AbortSignal.'],
  [{ folder: 'x', work: [] }, '/work', 'openIt cannot use the list given as its option "work". Let "work" be a function, or true or false.'],
  [{ folder: 'x', time: 5 }, '/time', 'openIt has no option "time". Did you mean "times"?'],
  [{ folder: 'x', Mode: 'a' }, '/Mode', 'openIt has no option "Mode". Did you mean "mode"?'],
  [undefined, '', 'openIt cannot use undefined given as its options. Give an object.'],
  [null, '', 'openIt cannot use null given as its options. Give an object.'],
  ['a secret', '', 'openIt cannot use the text given as its options. Give an object.'],
])('refuses %j', (options, path, message) => {
  expect(refusalOf(options)).toMatchObject({ code: 'ConfigInvalid', message, data: { path } })
})
