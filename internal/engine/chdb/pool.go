package chdb

import "context"

// pool hands out connections, at most a fixed number at a time.
type pool struct {
	open  func() (*conn, error)
	slots chan struct{}
	idle  chan *conn
}

func newPool(size int, open func() (*conn, error)) *pool {
	return &pool{open: open, slots: make(chan struct{}, size), idle: make(chan *conn, size)}
}

// get waits for a free place and returns a connection set as wanted.
func (p *pool) get(ctx context.Context, database string, settings map[string]string) (*conn, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, newException(codeTooMany, "TOO_MANY_SIMULTANEOUS_QUERIES", "gave up waiting for one of %d connections", cap(p.slots))
	}
	c, err := p.idleOrNew(database, settings)
	if err != nil {
		<-p.slots
	}
	return c, err
}

// idleOrNew returns an idle connection, or, if there is none or it can't be set as
// wanted (readonly=1 can't be taken back), a new one.
func (p *pool) idleOrNew(database string, settings map[string]string) (*conn, error) {
	select {
	case c := <-p.idle:
		if c.use(database, settings) == nil {
			return c, nil
		}
		c.close()
	default:
	}
	c, err := p.open()
	if err != nil {
		return nil, err
	}
	if err := c.use(database, settings); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// put gives a connection back; a soiled one is closed, not used again.
func (p *pool) put(c *conn, soiled bool) {
	if soiled {
		c.close()
	} else {
		p.idle <- c
	}
	<-p.slots
}

// close closes the idle connections; none may be handed out.
func (p *pool) close() {
	for {
		select {
		case c := <-p.idle:
			c.close()
		default:
			return
		}
	}
}
