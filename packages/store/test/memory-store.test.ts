import { describe } from 'vitest'
import { createMemoryStore } from '../src/index.ts'
import { testStoreBehaviour } from './store-behaviour.ts'

describe('the memory store', () => {
  testStoreBehaviour(async () => createMemoryStore())
})
