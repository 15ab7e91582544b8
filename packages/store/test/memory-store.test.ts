import { describe } from 'vitest'
import { createMemoryStore } from '../src/index.ts'
import { describesAStore } from './twin.ts'

describe('the memory store', () => {
  describesAStore(async () => createMemoryStore())
})
