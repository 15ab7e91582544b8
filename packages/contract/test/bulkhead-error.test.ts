import { describe, expect, it } from 'vitest'
import { BulkheadError, ERRORS, type ErrorCode } from '../src/model/errors.ts'

const hostile: readonly [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['a symbol', Symbol('x')],
  ['an object without a prototype', Object.create(null)],
  ['a proxy whose every trap throws', new Proxy({}, {
    has: () => { throw new Error('has') }, get: () => { throw new Error('get') },
    getPrototypeOf: () => { throw new Error('proto') },
  })],
  [
    'a revoked proxy',
    (() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy as unknown })(),
  ],
  ['an object whose text throws', { toString: () => { throw new Error('no') } }],
  ['an error whose message is an accessor that throws', Object.defineProperty(new Error('x'), 'message',
    { get: () => { throw new Error('no') } })],
  ['an error whose message is no text', Object.assign(new Error('x'), { message: 5 })],
  ['an error without a message', new Error('')], // eslint-disable-line unicorn/error-message
  ['one of our errors whose code throws', Object.defineProperty({ [Symbol.for('bulkhead.error')]: true }, 'code',
    { get: () => { throw new Error('no') } })],
  ['a pretender with an unknown code', { [Symbol.for('bulkhead.error')]: true, code: 'constructor' }],
]

describe('BulkheadError', () => {
  it.each(Object.keys(ERRORS) as ErrorCode[])('%s follows the table', (code) => {
    const error = new BulkheadError(code, 'It happened.')
    expect({ class: error.class, fault: error.fault, retryable: error.retryable })
      .toEqual({ class: ERRORS[code].class, fault: ERRORS[code].fault, retryable: ERRORS[code].retryable })
  })

  it('has a name, a message, data and a cause', () => {
    const cause = new Error('under it')
    const error = new BulkheadError('NotFound', 'No file.', { cause, data: { path: '/x' } })
    expect(error).toMatchObject({
      name: 'BulkheadError', code: 'NotFound', message: 'No file.', data: { path: '/x' }, cause,
    })
    expect(new BulkheadError('NotFound', 'No file.')).not.toHaveProperty('cause')
    expect(error).toBeInstanceOf(Error)
  })

  it('is recognized across copies of the package', async () => {
    const copy = '../src/model/errors.ts?copy'
    const other = await import(/* @vite-ignore */ copy) as typeof import('../src/model/errors.ts')
    const theirs = new other.BulkheadError('NotFound', 'x')
    expect(theirs).not.toBeInstanceOf(BulkheadError)
    expect(BulkheadError.is(theirs)).toBe(true)
    expect(BulkheadError.from(theirs)).toBe(theirs)
  })

  it('has only its data in JSON', () => {
    expect(JSON.parse(JSON.stringify(new BulkheadError('NotFound', 'x', { data: 1 }))))
      .toEqual({ name: 'BulkheadError', code: 'NotFound', data: 1 })
  })

  it.each(hostile)('wraps %s without throwing', (_, thrown) => {
    expect(BulkheadError.is(thrown)).toBe(false)
    const error = BulkheadError.from(thrown, 'ToolExecutionFailed')
    expect(error.code).toBe('ToolExecutionFailed')
    expect(error.message).not.toBe('')
  })

  it('keeps a wrapped error as its cause', () => {
    const cause = new TypeError('bad')
    expect(BulkheadError.from(cause)).toMatchObject({ code: 'InternalError', message: 'bad', cause })
  })
})
