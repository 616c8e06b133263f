/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brick in C++ (11 and later): classes that end what they began when they go out of scope, by
 * return or by exception. They add nothing else to the calls of brick.h, and none throws. An object
 * may only be used on the thread that made it.
 */
#ifndef BRICK_BRICK_HPP
#define BRICK_BRICK_HPP

#include <cstdint>
#include "brick/brick.h"

namespace brick
{

/* An execution of a brick. Its work may be counted piece by piece until its end. */
class span
{
	brick_span span_;
	std::uint64_t elements_ = 0, bytes_ = 0, flops_ = 0;
	bool known_ = false;

	span &know(std::uint64_t &count, std::uint64_t n)
	{
		count += n;
		known_ = true;
		return *this;
	}
	void forget()
	{
		elements_ = bytes_ = flops_ = 0;
		known_ = false;
	}

      public:
	/* Begins the brick in the thread's present layer, or in a given one. */
	explicit span(std::uint32_t brick) : span_(brick_begin(brick))
	{
	}
	span(std::uint32_t brick, int layer) : span_(brick_begin_layer(brick, layer))
	{
	}
	span(const span &) = delete;
	span &operator=(const span &) = delete;
	~span()
	{
		end();
	}

	/* Add to the elements produced, the bytes moved, the floating-point operations done. */
	span &elements(std::uint64_t n)
	{
		return know(elements_, n);
	}
	span &bytes(std::uint64_t n)
	{
		return know(bytes_, n);
	}
	span &flops(std::uint64_t n)
	{
		return know(flops_, n);
	}

	/* Ends this one, and begins the next at the same reading of the clock (brick_lap). */
	void lap(std::uint32_t next)
	{
		span_ = known_ ? brick_lap_work(span_, elements_, bytes_, flops_, next)
			       : brick_lap(span_, next);
		forget();
	}

	/* Ends the brick before its scope ends. Further calls do nothing. */
	void end()
	{
		if (known_)
			brick_end_work(span_, elements_, bytes_, flops_);
		else
			brick_end(span_);
		span_ = 0;
		forget();
	}

	/* Ends it with its elements. Returns how long it took, in ns; 0: nothing was measured. */
	std::uint64_t end_ns()
	{
		std::uint64_t ns = brick_end_ns(span_, elements_);
		span_ = 0;
		forget();
		return ns;
	}
};

/* A step of the engine (brick_step_begin). */
class step
{
	brick_span span_;

      public:
	step(enum brick_phase phase, std::uint64_t tokens) : span_(brick_step_begin(phase, tokens))
	{
	}
	/* A step over a batch: its tokens of prompts, and those that new ones are made from. */
	step(std::uint32_t prompt_tokens, std::uint32_t output_tokens)
	    : span_(brick_step_begin_mixed(prompt_tokens, output_tokens))
	{
	}
	step(const step &) = delete;
	step &operator=(const step &) = delete;
	~step()
	{
		brick_end(span_);
	}

	/* Adds the tokens of one sequence, and how many results it wants (brick_step_sequence). */
	step &sequence(std::uint32_t model, std::uint32_t id, std::uint32_t prompt_tokens,
		std::uint32_t output_tokens, std::uint32_t results, std::int32_t position = -1)
	{
		struct brick_step_sequence part = BRICK_STEP_SEQUENCE_INIT;
		part.model = model;
		part.sequence = id;
		part.prompt_tokens = prompt_tokens;
		part.output_tokens = output_tokens;
		part.results = results;
		part.position = position;
		brick_step_sequence(&part);
		return *this;
	}
};

/* Sets the layer of the bricks that this thread begins until the scope ends. Scopes may nest. */
class layer
{
	int before_;

      public:
	explicit layer(int index) : before_(brick_layer_set(index))
	{
	}
	layer(const layer &) = delete;
	layer &operator=(const layer &) = delete;
	~layer()
	{
		brick_layer_set(before_);
	}
};

/* A device of a backend, by its name ("cuda", "opencl", ...). It is drained when it is closed. */
class device
{
	brick_device *device_ = nullptr;
	int error_;

      public:
	explicit device(const char *backend, const brick_backend_options *options = nullptr)
	{
		const brick_backend *found = brick_backend_find(backend);
		error_ = found ? brick_device_open(&device_, found, options, nullptr, 0)
			       : BRICK_EUNSUPPORTED;
	}
	device(const device &) = delete;
	device &operator=(const device &) = delete;
	~device()
	{
		brick_device_close(device_);
	}

	/* 0 if the device is open, else an error for brick_strerror(). */
	int error() const
	{
		return error_;
	}

	/* The device for the calls of brick/device.h; null if it is not open. */
	brick_device *get() const
	{
		return device_;
	}
};

/* An execution of a brick on a queue of a device, with its work (brick_device_begin). */
class device_span
{
	const device &device_;
	void *queue_;
	brick_device_span span_;
	std::uint64_t elements_ = 0, bytes_ = 0, flops_ = 0;

      public:
	device_span(const device &device, void *queue, std::uint32_t brick, int layer = -1)
	    : device_(device), queue_(queue),
	      span_(device.get() ? brick_device_begin(device.get(), queue, brick, layer) : 0)
	{
	}
	device_span(const device_span &) = delete;
	device_span &operator=(const device_span &) = delete;
	~device_span()
	{
		if (span_)
			brick_device_end(device_.get(), queue_, span_, elements_, bytes_, flops_);
	}

	device_span &work(std::uint64_t elements, std::uint64_t bytes, std::uint64_t flops)
	{
		elements_ += elements;
		bytes_ += bytes;
		flops_ += flops;
		return *this;
	}
};

/* A request of one sequence (brick_request_begin). */
class request
{
	std::uint32_t model_, sequence_;

      public:
	request(std::uint32_t model, std::uint32_t sequence, std::uint64_t number = 0,
		std::uint64_t arrived = 0)
	    : model_(model), sequence_(sequence)
	{
		struct brick_request begun = BRICK_REQUEST_INIT;
		begun.model = model;
		begun.sequence = sequence;
		begun.number = number;
		begun.arrived = arrived;
		brick_request_begin(&begun);
	}
	request(const request &) = delete;
	request &operator=(const request &) = delete;
	~request()
	{
		brick_request_end(model_, sequence_);
	}
};

/* A recording of this process, or statistics without a file (nullptr). */
class session
{
	int error_;
	bool stopped_ = false;

      public:
	explicit session(const char *output)
	{
		brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
		options.output = output;
		error_ = brick_session_start(&options);
	}
	explicit session(const brick_session_options &options)
	    : error_(brick_session_start(&options))
	{
	}
	/* Statistics without a file: brick::session run = brick::session::statistics(); */
	static session statistics()
	{
		return session(static_cast<const char *>(nullptr));
	}
	session(session &&other) noexcept : error_(other.error_), stopped_(other.stopped_)
	{
		other.stopped_ = true;
	}
	session(const session &) = delete;
	session &operator=(const session &) = delete;
	~session()
	{
		stop();
	}

	/* 0 if the session runs or has ended well, else an error for brick_strerror(). */
	int error() const
	{
		return error_;
	}

	/* Ends the session and completes its file now. Returns 0 or the error. */
	int stop()
	{
		if (error_ || stopped_)
			return error_;
		stopped_ = true;
		error_ = brick_session_stop();
		return error_;
	}
};

} // namespace brick

#endif
