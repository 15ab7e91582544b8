import { ManualClock } from '../twin/clock.ts'
import { createWorld, type ToolSketch, type WorldSketch } from '../twin/world.ts'

export const ACTS: ToolSketch = { requires: { net: { hosts: ['example.com'] } } }
export const hang = () => new Promise(() => {})

export async function prepared(tool: ToolSketch, sketch: WorldSketch = {}) {
  const clock = new ManualClock()
  const world = createWorld({ clock, extensions: [{ tools: { echo: tool } }], ...sketch })
  const session = await world.host.openSession({ mode: 'yolo' })
  const call = (options = {}) => session.call({ id: 'c1', name: 'echo', arguments: {} }, options)
  return { clock, world, session, call }
}
