import { renameSync } from 'node:fs'

/** Alternates `flip` in this folder between a folder and a link to the outside. Returns a function that stops it. */
export function swapLink(folder: string): () => void {
  const move = (from: string, to: string): void => renameSync(`${folder}/${from}`, `${folder}/${to}`)
  let name = 'first'
  move(name, 'flip')
  let turn: NodeJS.Immediate
  const swap = (): void => {
    move('flip', name)
    name = name === 'first' ? 'second' : 'first'
    move(name, 'flip')
    turn = setImmediate(swap)
  }
  turn = setImmediate(swap)
  return () => {
    clearImmediate(turn)
    move('flip', name)
  }
}
