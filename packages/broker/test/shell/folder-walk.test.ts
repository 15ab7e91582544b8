import { expect, it } from 'vitest'
import { walkFolders } from '../../src/shell/folder-walk.ts'

it('ends with an error for a tree of more than 100,000 folders', async () => {
  let visited = 0
  const walking = walkFolders([0], () => {
    if (++visited > 100_000) throw new Error('It goes on.')
    return [visited]
  }, () => new Error('There are too many.'))
  await expect(walking).rejects.toThrow('There are too many.')
  expect(visited).toBe(100_000)
})

it('lets others have their turn', async () => {
  let turns = 0
  setImmediate(() => turns++)
  await walkFolders(Array.from({ length: 300 }, (_, index) => index), () => [], () => new Error('There are too many.'))
  expect(turns).toBe(1)
})
