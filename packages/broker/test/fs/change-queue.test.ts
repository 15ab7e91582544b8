import type { FileChange } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { ChangeQueue } from '../../src/fs/change-queue.ts'
import { codeOf } from './setup.ts'

const both = async (first: FileChange['change'], second: FileChange['change']): Promise<string> => {
  const queue = new ChangeQueue(10)
  queue.add('a', first)
  queue.add('a', second)
  queue.add('b', 'changed')
  return (await queue.next()).filter(({ path }) => path === 'a').map(({ change }) => change).join()
}

describe('the change queue', () => {
  it('merges changes of one path', async () => {
    expect(await both('created', 'changed')).toBe('created')
    expect(await both('created', 'removed')).toBe('')
    expect(await both('changed', 'changed')).toBe('changed')
    expect(await both('changed', 'removed')).toBe('removed')
    expect(await both('removed', 'created')).toBe('changed')
  })

  it('delivers changes together, to a waiting or a later reader', async () => {
    const queue = new ChangeQueue(10)
    queue.add('a', 'created')
    queue.add('b', 'removed')
    expect(await queue.next()).toEqual([{ path: 'a', change: 'created' }, { path: 'b', change: 'removed' }])
    const waiting = queue.next()
    expect(await codeOf(queue.next())).toBe('InputInvalid')
    queue.flush()
    queue.add('c', 'changed')
    queue.flush()
    expect(await waiting).toEqual([{ path: 'c', change: 'changed' }])
  })

  it('fails beyond the limit', async () => {
    const queue = new ChangeQueue(2)
    for (const path of ['a', 'b', 'a', 'c']) queue.add(path, 'changed')
    expect(await codeOf(queue.next())).toBe('OutputTooLarge')
    queue.add('d', 'changed')
    expect(await codeOf(queue.next())).toBe('OutputTooLarge')
  })

  it('ends once, for pending and later reads', async () => {
    const queue = new ChangeQueue(2)
    const waiting = codeOf(queue.next())
    queue.end(new BulkheadError('ToolCancelled', 'over'))
    queue.end(new BulkheadError('InternalError', 'again'))
    expect(await waiting).toBe('ToolCancelled')
    expect(await codeOf(queue.next())).toBe('ToolCancelled')
  })
})
