import { Socket } from 'node:net'
import { framed, FrameReader } from '../loads/framed-text.ts'

const socket = new Socket({ fd: 3 })
const reader = new FrameReader((text) => void socket.write(framed(text)))
socket.on('data', (chunk: Buffer) => reader.push(chunk))
